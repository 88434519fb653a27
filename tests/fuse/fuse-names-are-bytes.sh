#!/bin/sh
# SPDX-License-Identifier: MIT
# In samples/ each member has its name's own bytes, and its own content, also where
# another's name is the same to all but those who compare bytes.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
requires_fuse

for format in ustar gnu pax webdataset; do
    make_shards ds --shards 1 --samples 4 --bytes 300 --format $format --lookalikes --name "$format.tar"
done
mount_ds -o index-cache=no ds mnt
"$python" - <<'EOF'
import os, tarfile

for shard in os.listdir("ds"):
    top = b"mnt/samples/" + os.fsencode(shard)
    with tarfile.open("ds/" + shard) as tar:
        want = {os.fsencode(info.name): tar.extractfile(info).read() for info in tar if info.isreg()}
    got = {}
    for folder, _, names in os.walk(top):
        for name in names:
            path = os.path.join(folder, name)
            with open(path, "rb") as file:
                got[os.path.relpath(path, top)] = file.read()
    assert len(want) > 20 and got == want, (shard, sorted(got.keys() ^ want.keys()))
