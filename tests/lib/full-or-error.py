#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Is each read of a file full and right, or an error?

  full-or-error.py FILE COPY --how cached|direct [--error may|must|no]

Reads FILE from front to back in pieces of several sizes and compares with COPY.  A
piece that is an error is passed over.  --error: are there errors?  The size that fstat
tells must not change meanwhile.
"""
import argparse
import mmap
import os
import sys

SIZES = (4096, 131072, 65536, 1 << 20)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("file")
    parser.add_argument("copy")
    parser.add_argument("--how", choices=["cached", "direct"], required=True)
    parser.add_argument("--error", choices=["may", "must", "no"], default="may")
    args = parser.parse_args()
    with open(args.copy, "rb") as file:
        copy = file.read()
    fd = os.open(args.file, os.O_RDONLY | (os.O_DIRECT if args.how == "direct" else 0))
    buf = mmap.mmap(-1, max(SIZES))
    offset = n = n_errors = 0
    while offset <= len(copy):
        if os.fstat(fd).st_size != len(copy):
            sys.exit("the size is %d, not %d" % (os.fstat(fd).st_size, len(copy)))
        size = SIZES[n % len(SIZES)]
        n += 1
        try:
            got = os.preadv(fd, [memoryview(buf)[:size]], offset)
        except OSError:
            n_errors += 1
        else:
            # Pages before an error may be read alone: the rest is the next read.
            if got == 0 and offset < len(copy):
                sys.exit("wrong bytes: %s ends at %d of %d" % (args.file, offset, len(copy)))
            if got < min(size, len(copy) - offset) and got % 4096:
                sys.exit("%d bytes at %d, of %d" % (got, offset, size))
            if buf[:got] != copy[offset:offset + got]:
                sys.exit("wrong bytes at %d" % offset)
        offset += size
    if n_errors and args.error == "no":
        sys.exit("%d of %d reads failed" % (n_errors, n))
    if not n_errors and args.error == "must":
        sys.exit("no read failed")


main()
