#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Does WebDataset read the same samples from streams as from the shards?

  webdataset-samples.py auto|asis FOLDER STREAM...

Compares the multiset of (key, field, sha256 of the data) that WebDataset reads from all
*.tar in FOLDER with that of each STREAM, which is a URL or several, as WebDataset takes them.
With auto, a key may have its shard's name as a folder before it.
"""
import collections
import glob
import hashlib
import os
import sys

# Not needed here, and ten times as long to load as all the rest.
sys.modules["torch"] = None
import webdataset  # noqa: E402


def samples(urls):
    """Each sample as (key, ((field, digest), ...))."""
    found = collections.Counter()
    dataset = webdataset.WebDataset(urls, shardshuffle=False, empty_check=False)
    for sample in dataset:
        fields = tuple((name, hashlib.sha256(data).hexdigest())
                       for name, data in sorted(sample.items()) if name[:2] != "__")
        found[sample["__key__"], fields] += 1
    return found


def bare(got, want, folders):
    """Take the folder that keys=auto put before a key off again."""
    out = collections.Counter()
    for (key, fields), n in got.items():
        folder, slash, rest = key.partition("/")
        if (key, fields) not in want and slash and folder in folders:
            key = rest
        out[key, fields] += n
    return out


def main():
    keys, folder, *streams = sys.argv[1:]
    shards = sorted(glob.glob(os.path.join(folder, "*.tar")))
    names = {os.path.basename(s)[:-4] for s in shards}
    # A shard at a time: its end ends the sample.
    want = sum((samples([s]) for s in shards), collections.Counter())
    if not want:
        sys.exit("WebDataset reads nothing from " + folder)
    for stream in streams:
        got = samples(stream)
        if keys == "auto":
            got = bare(got, want, names)
        for sample in list((want - got).elements())[:5]:
            print("missing:", sample)
        for sample in list((got - want).elements())[:5]:
            print("too much:", sample)
        if got != want:
            sys.exit("wrong samples: %s has others than %s" % (stream, folder))
        print("%s: %d samples" % (stream, sum(got.values())))


main()
