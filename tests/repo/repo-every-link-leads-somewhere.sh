#!/bin/sh
# SPDX-License-Identifier: MIT
# Every relative link in a page of this repository leads to a file and a heading that exist, and
# every path or sfs_symbol of this repository that a page names in backticks, or a page that code
# names, is there.  Pages of docs/ are found: README.md leads to each of them.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"

cat >links.py <<'EOP'
import glob, os, re, sys

os.chdir(sys.argv[1])
pages = [os.path.normpath(p) for pattern in ("*.md", "docs/*.md", "docs/*/*.md", "bench/*.md", "src/*/README.md",
                                             "src/*/*/README.md", "fusefs/*.md", "fusefs/*/*.md", "sidecar/*.md", "sidecar/*/*.md", "rdma/*.md", "python/*.md") for p in glob.glob(pattern)]
# Files of the present only: a page of news or of a decision may name what has gone.
PATH = re.compile(r"`((?:src|fusefs|sidecar|rdma|include|tests|scripts|bench|docs|examples|man)/[\w./-]*\.\w+)`")
SYMBOL = re.compile(r"`(?:struct )?((?:sfs|shufflefs)_\w+)(?:\(\))?`")
LINK = re.compile(r"\]\(([^)\s]+)\)")
wrong = []
links = {}
symbols = set()
for pattern in ("src/*/*.[ch]", "src/*/*/*.[ch]", "fusefs/*.[ch]", "fusefs/*/*.[ch]", "sidecar/*.[ch]", "sidecar/*/*.[ch]", "rdma/*.[ch]", "include/*/*.h"):
    for path in glob.glob(pattern):
        symbols.update(re.findall(r"\b(?:sfs|shufflefs)_\w+", open(path, encoding="utf-8").read()))


def prose(page):
    """The lines outside of code blocks."""
    code = False
    for line in open(page, encoding="utf-8"):
        if line.startswith("```"):
            code = not code
        elif not code:
            yield line


def anchors(page):
    """Headings, as GitHub names them."""
    seen = set()
    for line in prose(page):
        if re.match(r"#+ ", line):
            text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", line.lstrip("#").strip()).lower()
            name = re.sub(r"[^\w\- ]", "", text).replace(" ", "-")
            n = 0
            while name + ("-%d" % n if n else "") in seen:
                n += 1
            seen.add(name + ("-%d" % n if n else ""))
    return seen


for page in pages:
    links[page] = set()
    for line in prose(page):
        for link in LINK.findall(re.sub("`[^`]*`", "", line)):
            if re.match(r"[a-z]+:", link):
                continue
            path, _, heading = link.partition("#")
            to = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
            if not os.path.exists(to):
                wrong.append("%s links to %s, which is not there" % (page, link))
            elif heading and heading not in anchors(to):
                wrong.append("%s links to %s: %s has no such heading" % (page, link, to))
            links[page].add(to)
        if not page.startswith(("NEWS", "docs/decisions")):
            wrong += ["%s names %s, which is not there" % (page, p) for p in PATH.findall(line)
                      if "NAME" not in p and "..." not in p and not os.path.exists(p)]
            wrong += ["%s names %s, which is not in the code" % (page, p) for p in SYMBOL.findall(line)
                      if p not in symbols and p != "sfs_noun_verb"]
for pattern in ("src/*/*.[ch]", "src/*/*/*.[ch]", "fusefs/*.[ch]", "fusefs/*/*.[ch]", "sidecar/*.[ch]", "sidecar/*/*.[ch]", "rdma/*.[ch]", "include/*/*.h", "tests/*/*.*", "tests/unit/*/*.c", "scripts/*", "man/*"):
    for path in glob.glob(pattern):
        if os.path.isfile(path) and "repo-every-link" not in path:
            text = open(path, encoding="utf-8", errors="replace").read()
            wrong += ["%s names %s, which is not there" % (path, p)
                      for p in re.findall(r"\bdocs/[\w/-]+\.md", text) if not os.path.exists(p)]
reached, new = set(), {"README.md"}
while new:
    reached |= new
    new = {to for page in new for to in links.get(page, ()) if to in links} - reached
wrong += ["no link leads to %s" % p for p in pages if p.startswith("docs/") and p not in reached]
print("\n".join(wrong) or "%d links" % sum(map(len, links.values())))
sys.exit(bool(wrong))
EOP
"$python" links.py "$top" >said || fail "$(cat said)"

mkdir -p tree/docs
printf '# T\n\n[x](docs/a.md#one-two)\n' >tree/README.md
printf '# One, `two`\n' >tree/docs/a.md
"$python" links.py tree >said || fail "$(cat said)"
printf '[y](b.md) [z](../README.md#t2) `src/none.c` `sfs_none()`\n' >>tree/docs/a.md
printf '# B\n' >tree/docs/c.md
mkdir -p tree/src/tar
echo '/* see docs/d.md */' >tree/src/tar/tar.c
! "$python" links.py tree >said || fail "nothing was missed"
for missed in 'b.md, which' 'README.md has no such heading' 'src/none.c, which' 'sfs_none, which' 'docs/d.md, which' 'leads to docs/c.md'; do
    grep -q "$missed" said || fail "not noticed: $missed: $(cat said)"
done
