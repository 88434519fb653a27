#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Hold what a fuzz target has read, or renamed, to what WebDataset would see.

  judge.py FOLDER        FOLDER was SHUFFLEFS_FUZZ_OUT of the target

For each file: the members that belong to samples, as Python's tarfile reads them from a
stream with WebDataset's rule for names, must be those of our list.  What either refuses
ends the comparison.  Exit 1: some file is read differently; it is named.
"""
import glob
import os
import re
import sys
import tarfile

KEY = re.compile(r"^((?:.*/|)[^.]+)[.]([^/]*)$")  # webdataset 1.0.2, tariterators.py
META = re.compile(r"__[^/]*__($|/)")
BIG = 1 << 22
HUGE = 1 << 40  # tarfile would seek there for hours, though the file has long ended
M64 = (1 << 64) - 1


def hash_data(data):
    """hash_at() of fuzz-tar-differential.c"""
    total = 0
    for i, byte in enumerate(data):
        if byte:
            v = (i * 256 + byte) * 0x9E3779B97F4A7C15 & M64
            v = (v ^ v >> 29) * 0xBF58476D1CE4E5B9 & M64
            total += v ^ v >> 32
    return "%016x" % (total & M64)


def has_times_for_prefix(path, info):
    """In GNU's dialect times may stand where others have a prefix, which tarfile takes
    for one.  GNU tar, libarchive and we don't."""
    with open(path, "rb") as f:
        f.seek(max(0, info.offset_data - tarfile.BLOCKSIZE))
        block = f.read(tarfile.BLOCKSIZE)
    return block[257:265] == b"ustar  \0" and block[345:346] != b"\0"


def has_name_in_padding(path, info):
    """tarfile reads a GNU long name up to its NUL, even behind the size of its header.
    GNU tar, libarchive and we end at the size."""
    with open(path, "rb") as f:
        f.seek(info.offset)
        while f.tell() < info.offset_data:
            try:
                header = tarfile.TarInfo.frombuf(f.read(tarfile.BLOCKSIZE), "utf-8", "surrogateescape")
            except tarfile.HeaderError:
                return False
            if header.type not in (b"L", b"K", b"x", b"X", b"g"):
                return False
            body = f.read(-(-header.size // tarfile.BLOCKSIZE) * tarfile.BLOCKSIZE)
            if header.type == b"L" and b"\0" not in body[:header.size] and any(body[header.size:]):
                return True
    return False


def is_wanted(name):
    if META.match(name) or ("/" not in name and name.startswith("__") and name.endswith("__")):
        return False
    return bool(KEY.match(name))


def by_tarfile(path):
    members = []
    try:
        with tarfile.open(path, "r|") as tar:
            for info in tar:
                if info.size > HUGE:
                    return members, "a size that no file has"
                if has_times_for_prefix(path, info):
                    return members, "times in place of a prefix"
                if has_name_in_padding(path, info):
                    return members, "a long name that goes on in its padding"
                if not info.isreg() or not is_wanted(info.name):
                    continue
                data = tar.extractfile(info).read() if info.size < BIG else None
                members.append((info.size, "?" if data is None else hash_data(data),
                                info.name.encode("utf-8", "surrogateescape").hex()))
            end = tar.offset
    except Exception as error:  # pylint: disable=broad-except  # any, from any bad file
        return members, "%s: %s" % (type(error).__name__, error)
    with open(path, "rb") as f:
        f.seek(end)
        if any(f.read(tarfile.BLOCKSIZE)):
            return members, "a bad header, which ends it silently"
    return members, "complete"


def is_same(ours, theirs):
    return ours[0] == theirs[0] and ours[2] == theirs[2] and (theirs[1] == ours[1] or "?" in (ours[1], theirs[1]))


def main(folder):
    n_same = n_ended = n_bad = 0
    for path in sorted(glob.glob(os.path.join(folder, "*.list"))):
        lines = open(path).read().splitlines()
        ours = [(int(size), data, name) for size, data, name in
                (line.split(" ") if line.count(" ") == 2 else (0, 0, 0) for line in lines[1:])]
        theirs, end = by_tarfile(path[:-4] + "tar")
        n = 0
        while n < len(ours) and n < len(theirs) and is_same(ours[n], theirs[n]):
            n += 1
        if n == len(ours) == len(theirs):
            n_same += 1
        elif (n == len(ours) and lines[0] != "complete") or (n == len(theirs) and end != "complete"):
            n_ended += 1
        else:
            n_bad += 1
            print("%star: member %d of samples: ours %s (%s), tarfile's %s (%s)" % (
                path[:-4], n, ours[n:n + 1], lines[0], theirs[n:n + 1], end))
    print("%d files read the same, %d to where one ended, %d differ" % (n_same, n_ended, n_bad))
    return n_bad > 0


sys.exit(main(sys.argv[1]))
