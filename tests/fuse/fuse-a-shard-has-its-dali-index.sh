#!/bin/sh
# SPDX-License-Identifier: MIT
# shards/NAME.idx is the index that DALI's wds2idx would write of that shard (v1.2): found
# by name, not listed; what DALI could not read is refused, and the ledger says why.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
requires_fuse
export PYTHONPATH="$top/tests/lib" PYTHONDONTWRITEBYTECODE=1

make_shards ds/x --shards 2 --samples 30 --bytes 900 --name "a-%02d.tar"
make_shards ds/y --shards 1 --samples 30 --bytes 900 --restart-keys --format webdataset --name "b.tar"
"$python" - <<'EOT'
import io, tarfile

with tarfile.open("ds/y/blank.tar", "w") as tar:
    tar.addfile(tarfile.TarInfo("a b.x"), io.BytesIO(b""))
EOT
mount_ds "ds/x/a-{00..01}.tar" ds/y/b.tar ds/y/blank.tar mnt
[ "$(ls -R mnt/shards | grep -c idx)" = 0 ] || fail "it is listed"
"$python" - <<'EOT'
import wds2idx

for shard in "x/a-00", "x/a-01", "y/b":
    want, _ = wds2idx.index_of("ds/%s.tar" % shard)
    with open("mnt/shards/%s.idx" % shard, "rb") as f:
        got = f.read()
    assert got.strip() == want.strip(), (shard, got[:300], want[:300])
EOT
! cat mnt/shards/y/blank.idx 2>/dev/null || fail "a name with a blank"
grep -q '"event":"refused","shard":"y/blank.tar".*cannot make its .idx' mnt/.shufflefs/errors || fail "$(cat mnt/.shufflefs/errors)"
for n in x/a-02.idx x/.idx x.idx x/a-00.tar.idx; do
    [ ! -e "mnt/shards/$n" ] || fail "$n is there"
done
