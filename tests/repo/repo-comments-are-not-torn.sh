#!/bin/sh
# SPDX-License-Identifier: MIT
# No comment looks as if a formatter had torn it: an asterisk that runs into a word, lines of a
# block without one, "*/" alone behind two lines of text, a type alone on a line before its name.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"

"$python" - "$top" <<'EOF2'
import glob, os, re, sys

os.chdir(sys.argv[1])
paths = [p for folder in ("include", "src", "fusefs", "sidecar", "rdma", "tests", "examples", "python", "bench")
         for end in "ch" for p in glob.glob(folder + "/**/*." + end, recursive=True)
         if not p.startswith("python/csrc/")]  # copies, which `pip install` makes
assert len(paths) > 300, len(paths)
torn = []
for path in paths:
    with open(path) as file:
        text = file.read()
    for comment in re.finditer(r"/\*.*?\*/", text, re.S):
        where = "%s:%d" % (path, text.count("\n", 0, comment.start()) + 1)
        before = text[text.rfind("\n", 0, comment.start()) + 1:comment.start()]
        if before.count('"') % 2:
            continue  # a string
        lines = comment.group().split("\n")
        if any(re.match(r"\s*\*[A-Za-z\"]", line) for line in lines[1:]):
            torn.append(where + ": an asterisk runs into a word")
        if any(not re.match(r"\s*\*", line) for line in lines[1:]):
            torn.append(where + ": a line without an asterisk")
        if len(lines) > 1 and lines[-1].strip() == "*/" and (before.strip() or len(lines) < 3):
            torn.append(where + ": nothing but */ in the last line")
    for name in re.finditer(r"\n\s+(unsigned|const char|char|uint\d+_t|size_t|int|bool|double|struct \w+)\n\s+\*?\w+;", text):
        torn.append("%s:%d: a type without its name" % (path, text.count("\n", 0, name.start()) + 2))
print("\n".join(torn))
sys.exit(len(torn) > 0)
EOF2
