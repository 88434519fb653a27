#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Does a stream hold every sample of the shards, exactly once?

  compare.py FOLDER STREAM.tar

Samples are read by WebDataset's rule from all *.tar of FOLDER and from the stream,
and compared with the names and hashes of all their members; the folder that
keys=auto may put before a key is taken off.  Both must be whole tars: nothing but
zeros behind the last member.  Standard library only.
"""
import collections
import hashlib
import os
import sys
import tarfile


def fail(text):
    sys.exit("compare.py: " + text)


def key_of(member):
    """The key, or None for a member that is in no sample."""
    folders, _, base = member.name.rpartition("/")
    stem, dot, field = base.partition(".")
    first = member.name.split("/")[0]
    if not member.isreg() or not dot or not field:
        return None
    if member.name.count("/") and len(first) > 3 and first[:2] == first[-2:] == "__":
        return None
    key = folders + "/" + stem if folders else stem
    return key or None


def check_tail(path, end):
    size = os.path.getsize(path)
    with open(path, "rb") as file:
        file.seek(end)
        while chunk := file.read(1 << 20):
            if chunk.strip(b"\0"):
                fail("%s: something other than zeros behind byte %d" % (path, end))
    if size % 512 or size - end < 1024:
        fail("%s: %d bytes behind the last member at %d are no end of a tar" %
             (path, size - end, end))


def members(path):
    end = 0
    with tarfile.open(path, "r:", encoding="utf-8") as tar:
        for member in tar:
            end = member.offset_data + (member.size + 511) // 512 * 512 * member.isreg()
            data = tar.extractfile(member).read() if member.isreg() else b""
            yield member, hashlib.sha256(data).hexdigest()
    check_tail(path, end)


def samples(path):
    """Each sample as (key, ((name, hash), ...))."""
    before, found = None, []
    for member, digest in members(path):
        key = key_of(member)
        if key is None:
            continue
        if key != before and found:
            yield before, tuple(found)
            found = []
        before = key
        found.append((member.name, digest))
    if found:
        yield before, tuple(found)


def without_folder(sample, folders):
    for folder in folders:
        if all(name.startswith(folder + "/") for name, _ in sample):
            return tuple((name[len(folder) + 1:], digest) for name, digest in sample)
    return sample


def main():
    folder, stream = sys.argv[1:]
    shards = sorted(n for n in os.listdir(folder) if n.endswith(".tar"))
    want, got = collections.Counter(), collections.Counter()
    for shard in shards:
        want.update(s for _, s in samples(os.path.join(folder, shard)))
    for _, sample in samples(stream):
        bare = without_folder(sample, [s[:-4] for s in shards])
        got[sample if sample in want else bare] += 1
    for sample, n in (want - got).items():
        print("missing, %d times: %s" % (n, [name for name, _ in sample]))
    for sample, n in (got - want).items():
        print("too much, %d times: %s" % (n, [name for name, _ in sample]))
    if want != got:
        fail("wrong samples: %s is not an epoch of %s" % (stream, folder))


main()
