#!/bin/sh
# SPDX-License-Identifier: MIT
# Where an epoch is cut at a thousand places, what is read around them twice goes by the
# samples that most of the dataset has, not by the longest; and once all tables are known,
# almost nothing is.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
requires_fuse

make_shards data --shards 2 --samples 3000 --bytes 10000 --name "b-%d.tar"
make_shards data --shards 1 --samples 1 --bytes 3000000 --name "a.tar"
mount_ds -o segment=random,next-epoch=no,lanes=16,index-cache=no data mnt

fetched() {
    awk '/^shufflefs_fetched_bytes_total/ { n += $2 } END { printf "%d\n", n }' mnt/.shufflefs/metrics.prom
}

# costs EPOCH PERCENT: so much is fetched at most, of the epoch's bytes.
costs() {
    size=$(stat -c %s "mnt/epochs/$1.tar")
    before=$(fetched)
    cat "mnt/epochs/$1.tar" >got.tar
    n=$(($(fetched) - before))
    echo "epoch $1: fetched $n of $size"
    [ $n -gt $((size / 2)) ] || fail "only $n bytes of $size are counted"
    [ $n -lt $((size / 100 * $2)) ] || fail "epoch $1 had $n bytes fetched of $size"
}

# (A cut each 64 KiB: 950 of them.)
costs 0 500
costs 1 150
"$python" "$top/scripts/order.py" stream data 1.tar --lanes 16 --segment random >want.tar
cmp want.tar got.tar || fail "epoch 1 is not what the script says"
