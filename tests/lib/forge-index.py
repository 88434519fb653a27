#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Change an index so that its checksums are right again: by docs/internals/catalog.md alone.
The members' part stays as it is.

  forge-index.py FILE CHANGE

  shift    each sample begins a block later
  lengths  the first two samples share their bytes in another way
  join     the first two samples are one
  keys     the key of each sample is that of the next one
  version  of another version of the shard
  format   in another version of the format
"""
import struct
import sys

ENTRY = struct.Struct("<IIQ")
GLOBAL = 1 << 31
MASK = (1 << 64) - 1


def lane(state, word):
    state ^= word
    return ((state << 29 | state >> 35) & MASK) * 0x9E3779B97F4A7C15 & MASK


def checksum(data):
    padded = data + bytes(-len(data) % 32)
    lanes = [1, 2, 3, 4]
    for i, (word,) in enumerate(struct.iter_unpack("<Q", padded)):
        lanes[i % 4] = lane(lanes[i % 4], word)
    total = len(data)
    for state in lanes:
        total = lane(total, state)
    return total ^ total >> 32


def blocks_of(entries):
    """start, blocks, hash of each."""
    end = 0
    for start, after, key in entries:
        yield start, after - end, key
        end = after


def change(samples, how):
    if how == "shift":
        return [(start + 1, n, key) for start, n, key in samples]
    first, second, *rest = samples
    if how == "lengths":
        first = first[0], first[1] - 1, first[2]
        second = second[0] - 1, second[1] + 1, second[2]
        return [first, second] + rest
    if how == "join":
        return [(first[0], first[1] + second[1], first[2])] + rest
    if how == "keys":
        keys = [key for _, _, key in samples]
        return [(start, n, key) for (start, n, _), key in zip(samples, keys[1:] + keys[:1])]
    return samples


def main():
    path, how = sys.argv[1:]
    with open(path, "rb") as file:
        data = file.read()
    head = list(struct.unpack("<8sII12Q", data[:112]))
    order, rest = data[112:112 + head[9]], data[112 + head[9]:]
    samples = change(list(blocks_of(ENTRY.iter_unpack(order))), how)
    end, order = 0, b""
    for start, n, key in samples:
        end += n
        order += ENTRY.pack(start, end, key)
    if how == "version":
        head[4] ^= 1
    if how == "format":
        head[1] += 1
    head[5] = len(samples)
    head[6] = end * 512
    head[9] = len(order)
    head[10] = 112 + len(order) if rest else 0
    head[12] = checksum(order)
    top = struct.pack("<8sII11Q", *head[:-1])
    with open(path, "wb") as file:
        file.write(top + struct.pack("<Q", checksum(top)) + order + rest)


main()
