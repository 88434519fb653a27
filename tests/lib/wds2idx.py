# SPDX-License-Identifier: MIT
"""What DALI's wds2idx would write of a tar (its format v1.2), by Python's tarfile, for tests."""
import re
import tarfile


def index_of(path):
    """The index of the tar at `path`, as bytes; and how many samples it has."""
    lines, key = [], None
    with tarfile.open(path) as tar:
        for m in tar:
            match = re.match(r"^((?:.*/|)[^.]+)[.]([^/]*)$", m.name)
            if not m.isreg() or not match:
                continue
            if match[1] != key:
                lines.append([])
            key = match[1]
            lines[-1].append("%s %d %d %s" % (match[2], m.offset_data, m.size, m.name))
    return ("v1.2 %d\n" % len(lines) + "".join(" ".join(line) + "\n" for line in lines)).encode(), len(lines)
