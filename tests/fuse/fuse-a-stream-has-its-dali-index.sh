#!/bin/sh
# SPDX-License-Identifier: MIT
# NAME.idx beside each stream NAME.tar of epochs/ is the index that DALI's wds2idx would write of
# that stream: whatever part it is, and also where the stream renames samples.  What DALI could
# not read is refused, and the ledger says why.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
requires_fuse
export PYTHONPATH="$top/tests/lib" PYTHONDONTWRITEBYTECODE=1

make_shards ds --shards 4 --samples 60 --bytes 900 --restart-keys --format webdataset --name "a-%d.tar"
make_shards ds --shards 1 --samples 0 --name "empty.tar"
cat >check.py <<'EOT'
import os, random, sys
import wds2idx

for name in sys.argv[1:]:
    want, n_samples = wds2idx.index_of("mnt/epochs/%s.tar" % name)
    path = "mnt/epochs/%s.idx" % name
    assert n_samples and os.stat(path).st_size == len(want), (name, os.stat(path).st_size, len(want))
    with open(path, "rb") as f:
        got = f.read()
    assert got == want, (name, got[:300], want[:300])
    fd, r = os.open(path, os.O_RDONLY | os.O_DIRECT), random.Random(1)
    for i in range(30):
        at, n = r.randrange(len(want) + 100), r.randrange(1, 5000)
        assert os.pread(fd, n, at) == want[at:at + n], (name, at, n)
    os.close(fd)
EOT
for options in lanes=12 lanes=12,keys=unique lanes=12,segment=4K lanes=6,segment=sample,equal=pad; do
    mount_ds -o "seed=3,$options" ds mnt
    "$python" check.py 0 5 0@17 1/rank-1-of-3 1/rank-1-of-3@5 2/rank-0-of-2/worker-1-of-3 || fail "wrong bytes: $options"
    "$shufflefs" cat -o "seed=3,$options" ds epochs/0@17.idx | cmp - mnt/epochs/0@17.idx || fail "wrong bytes: cat, $options"
    ! cat mnt/epochs/0@100000.idx 2>/dev/null || fail "an index of no samples"
    [ ! -e mnt/epochs/0.tar.idx ] || fail "0.tar.idx"
    [ "$(ls mnt/epochs | grep -c idx)" = 0 ] || fail "it is listed"
    umount_ds mnt
done

# What DALI cannot read.
"$python" - <<'EOT'
import io, tarfile

with tarfile.open("ds/blank.tar", "w") as tar:
    tar.addfile(tarfile.TarInfo("a b.x"), io.BytesIO(b""))
EOT
mount_ds ds mnt
! cat mnt/epochs/0.idx 2>/dev/null || fail "a name with a blank"
errors_have mnt '"event":"refused","shard":"blank.tar".*cannot make the .idx of epoch 0'
cat mnt/epochs/0.order >got || fail "no order"
[ "$(wc -l <got)" = 241 ] || fail "wrong samples: $(wc -l <got)"
umount_ds mnt
