#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Read a file at random offsets, in one of three ways, and compare with a copy.

  check-reads.py FILE COPY --how cached|direct|mapped [--reads 100] [--seed TEXT]
"""
import argparse
import mmap
import os
import random
import sys

BLOCK = 4096  # O_DIRECT wants offsets and lengths like that


def reader(path, how):
    """A function (offset, length) -> bytes."""
    if how == "direct":
        fd = os.open(path, os.O_RDONLY | os.O_DIRECT)
        buf = mmap.mmap(-1, 4 << 20)

        def read(offset, length):
            first = offset // BLOCK * BLOCK
            n = -(-(offset + length - first) // BLOCK) * BLOCK
            got = os.preadv(fd, [memoryview(buf)[:n]], first)
            return buf[offset - first:min(got, offset - first + length)]

        return read
    fd = os.open(path, os.O_RDONLY)
    if how == "cached":
        return lambda offset, length: os.pread(fd, length, offset)
    view = mmap.mmap(fd, 0, prot=mmap.PROT_READ, flags=mmap.MAP_SHARED)
    return lambda offset, length: view[offset:offset + length]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("file")
    parser.add_argument("copy")
    parser.add_argument("--how", choices=["cached", "direct", "mapped"], required=True)
    parser.add_argument("--reads", type=int, default=100)
    parser.add_argument("--seed", default="")
    args = parser.parse_args()
    rng = random.Random(args.seed)
    size = os.stat(args.copy).st_size
    if os.stat(args.file).st_size != size:
        sys.exit("sizes differ")
    read = reader(args.file, args.how)
    with open(args.copy, "rb") as f:
        copy = mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ)
        offset = 0
        for _ in range(args.reads):
            if rng.random() < 0.7:
                offset = rng.randrange(size)
            length = min(rng.choice([1, 512, 10240, 65536, 1 << 20]), size - offset)
            if read(offset, length) != copy[offset:offset + length]:
                sys.exit("wrong bytes at %d, %d of them (%s)" % (offset, length, args.how))
            offset = min(offset + length, size - 1)


main()
