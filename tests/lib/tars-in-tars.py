#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Shards whose members are tars: always the same bytes for the same options.

  tars-in-tars.py FOLDER SHARDS SAMPLES SMALLEST LARGEST ONE_IN [NOISE]

One sample in ONE_IN has a tar of small files, of SMALLEST to LARGEST bytes, as many in each
octave; the others have noise of up to a tenth of that, or of NOISE bytes.  Standard library
only.
"""
import io
import os
import random
import sys
import tarfile


def add(tar, name, data):
    info = tarfile.TarInfo(name)
    info.size = len(data)
    tar.addfile(info, io.BytesIO(data))


def inner_tar(rng, n_bytes):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        i = 0
        while out.tell() < n_bytes:
            add(tar, "frames/%05d.jpg" % i, rng.randbytes(rng.randrange(min(n_bytes, 12000))))
            i += 1
    return out.getvalue()


def main(folder, n_shards, n_samples, smallest, largest, one_in, noise=None):
    os.makedirs(folder)
    rng = random.Random("tars in tars %s" % folder)
    for shard in range(n_shards):
        with tarfile.open("%s/%s-%02d.tar" % (folder, os.path.basename(folder), shard), "w",
                          format=tarfile.GNU_FORMAT) as tar:
            for i in range(n_samples):
                size = int(smallest * (largest / smallest) ** rng.random())
                if i % one_in == one_in // 2:
                    add(tar, "%06d.tar" % i, inner_tar(rng, size))
                else:
                    add(tar, "%06d.jpg" % i, rng.randbytes(noise or size // 10))
                add(tar, "%06d.cls" % i, b"%d" % i)


main(sys.argv[1], *map(int, sys.argv[2:]))
