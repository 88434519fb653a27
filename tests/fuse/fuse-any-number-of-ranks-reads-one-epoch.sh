#!/bin/sh
# SPDX-License-Identifier: MIT
# With equal lanes, one sample of each rank in turn is the epoch, for every number of ranks
# that divides the lanes: a job may stop after any step and go on with another number, and
# neither loses nor repeats a sample.  equal=drop and equal=pad make ranks equally long,
# and tell by how much; sizes are exact, and a read at any byte gives that byte.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
requires_fuse

make_shards data --shards 7 --samples 40 --bytes 3000
make_shards data --shards 1 --samples 91 --bytes 500 --prefix z --name "z.tar"
make_shards data --shards 2 --samples 0 --name "empty-%d.tar"

# segment=, and an epoch.
while read -r segment equal epoch; do
    opts="seed=4,lanes=12,buffer=300K,segment=$segment,equal=$equal"
    mount_ds -o $opts data mnt
    "$python" "$top/tests/lib/ranks-in-turn.py" mnt/epochs $equal $epoch 12 || fail "$opts"

    # The sum of the extents, and 1024.
    for name in $epoch rank-4-of-6 rank-1-of-4@17; do
        [ $name = $epoch ] || name=$epoch/$name
        "$python" "$top/scripts/order.py" list data $name.tar --seed 4 --lanes 12 \
            --buffer 307200 --segment $segment --equal $equal >list
        size=$(awk '{ n += $3 } END { print n + 1024 }' list)
        [ "$(stat -c %s mnt/epochs/$name.tar)" = "$size" ] || fail "size of $name, $opts"
    done

    # A part that nobody has read, at random bytes; then from its start.
    part=5/rank-1-of-2@20.tar
    "$shufflefs" cat -o $opts data epochs/$part >want.tar
    for how in direct cached mapped; do
        "$python" "$top/tests/lib/check-reads.py" mnt/epochs/$part want.tar --how $how --reads 40 --seed 1
    done
    same want.tar mnt/epochs/$part
    umount_ds mnt
done <<EOD
16K    none 1
16K    drop 1
sample pad  2
shard  pad  3
shard  drop 0
EOD

# WebDataset reads each sample once from the ranks.
requires_webdataset
mount_ds -o lanes=12,segment=16K data mnt
e=mnt/epochs/0
"$python" "$top/tests/lib/webdataset-samples.py" auto data "$e/rank-{0..2}-of-3.tar" \
    "$e/rank-{0..4}-of-6.tar::$e/rank-5-of-6/worker-{0..1}-of-2.tar"
umount_ds mnt
