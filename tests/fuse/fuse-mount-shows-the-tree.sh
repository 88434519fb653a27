#!/bin/sh
# SPDX-License-Identifier: MIT
# What a mount shows: the folders, their names, sizes, modes and times.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
requires_fuse

make_shards data/a --shards 2
make_shards data/b --shards 1 --name other.tar
mount_ds -o epochs=3,umask=002 "$work/data/a/train-{000000..000001}.tar" data/b mnt

[ "$(ls -A mnt | tr '\n' ' ')" = ".shufflefs README epochs samples shards " ] || fail "$(ls -A mnt)"
[ "$(ls mnt/epochs | tr '\n' ' ')" = "0.tar 1.tar 2.tar " ] || fail "$(ls mnt/epochs)"
[ "$(cd mnt/shards && find . -type f | sort | tr '\n' ' ')" = \
    "./a/train-000000.tar ./a/train-000001.tar ./b/other.tar " ] || fail "$(find mnt/shards)"
[ "$(ls -A mnt/.shufflefs | tr '\n' ' ')" = "config errors metrics.prom stats.json " ] ||
    fail "$(ls -A mnt/.shufflefs)"

# A stream's size: 1024, and each shard's rounded up to 512.
size=1024
for s in data/a/*.tar data/b/other.tar; do
    size=$((size + ($(stat -c %s "$s") + 511) / 512 * 512))
done
[ "$(stat -c %s mnt/epochs/0.tar)" = $size ] || fail "size of the stream"
[ "$(stat -c %s mnt/epochs/123456789012345.tar)" = $size ] || fail "any epoch can be looked up"
[ "$(stat -c '%a %B %F' mnt/epochs/0.tar | cut -d' ' -f1,3-)" = "444 regular file" ] || fail "mode"
[ "$(stat -c %a mnt/epochs)" = 555 ] || fail "mode of a folder"
[ "$(stat -c %o mnt/epochs/0.tar)" = 1048576 ] || fail "st_blksize"
[ "$(stat -c %Y mnt/epochs/0.tar)" = 1600000000 ] || fail "a stream's time is its newest shard's"

# Only canonical decimals are epochs.
for bad in 007.tar 00.tar -1.tar +1.tar 1.TAR 1.tar.tar .tar 0x1.tar \
    99999999999999999999.tar 01 1@.tar 1@01.tar 1@-1.tar 1@1 0/0.tar 0/rank-0-of-0.tar \
    0/rank-00-of-2.tar 0/rank-0-of-2@01.tar 0/worker-0-of-1.tar 0/rank-0-of-2/rank-0-of-2.tar; do
    [ ! -e "mnt/epochs/$bad" ] || fail "epochs/$bad should not be there"
done

# Shards byte for byte; members as tar has them.
same data/a/train-000001.tar mnt/shards/a/train-000001.tar
tar --compare -f data/a/train-000000.tar -C mnt/samples/a/train-000000.tar 2>&1 |
    grep -vE 'Mode differs|Uid differs|Gid differs' && fail "tar --compare"

python3 -c 'import json; json.load(open("mnt/.shufflefs/stats.json"))'
grep -q '^seed = 0 .*# default' mnt/.shufflefs/config
grep -q '^epochs = 3 .*# -o' mnt/.shufflefs/config
grep -q '^# TYPE shufflefs_delivered_bytes_total counter' mnt/.shufflefs/metrics.prom
[ "$(wc -l <mnt/README)" -le 25 ] || fail "README is long"
grep -q "data/b" mnt/README
grep -q "^resume  mid-epoch only with the same number of ranks$" mnt/README
umount_ds mnt
