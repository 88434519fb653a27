#!/bin/sh
# SPDX-License-Identifier: MIT
# The real DALI reads the shards of a mount, and its streams, with the .idx that the mount has of
# them: each sample once, byte for byte, in the order of the file.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
requires_fuse
make_shards data --shards 3 --samples 40 --bytes 5000 --format webdataset --name "s-%d.tar"
requires_reader nvidia.dali
mount_ds -o lanes=12,keys=unique data mnt
cat >read.py <<'EOT'
import re, sys, tarfile
from nvidia.dali import fn, pipeline_def

def samples(path):
    """[field: bytes] of each sample, as tarfile reads them."""
    all, key = [], None
    with tarfile.open(path) as tar:
        for m in tar:
            match = re.match(r"^((?:.*/|)[^.]+)[.]([^/]*)$", m.name)
            if not m.isreg() or not match:
                continue
            if match[1] != key:
                all.append({})
            key = match[1]
            all[-1][match[2]] = tar.extractfile(m).read()
    return all

for names in (["shards/s-0", "shards/s-1", "shards/s-2"], ["epochs/0"], ["epochs/3/rank-1-of-3"], ["epochs/1@50"]):
    want = [s for n in names for s in samples("mnt/%s.tar" % n)]
    field = sorted(want[0])[0]
    for mapped in True, False:
        @pipeline_def(batch_size=len(want), num_threads=1, device_id=None)
        def pipe():
            return fn.readers.webdataset(paths=["mnt/%s.tar" % n for n in names],
                                         index_paths=["mnt/%s.idx" % n for n in names],
                                         ext=[field], dont_use_mmap=not mapped, name="R")
        p = pipe()
        p.build()
        got, = p.run()
        assert p.epoch_size("R") == len(want), (names, p.epoch_size("R"), len(want))
        for i, s in enumerate(want):
            assert bytes(got.at(i)) == s[field], ("wrong bytes", names, mapped, i)
        print(names, len(want), "samples")
EOT
"$python" read.py || fail "wrong samples"
umount_ds mnt
