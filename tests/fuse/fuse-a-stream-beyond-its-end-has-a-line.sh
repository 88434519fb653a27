#!/bin/sh
# SPDX-License-Identifier: MIT
# ...@K with K above the number of samples is an empty tar, and a line says that it begins beyond the
# end, once; at the end, where a job stops that has read all, nothing is said.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"
requires_fuse

make_shards data --shards 4 --samples 10 --bytes 300
beyond() {
    grep -c '"event":"empty"' mnt/.shufflefs/errors || true
}

for opts in lanes=4 lanes=4,segment=shard lanes=4,segment=4K lanes=4,equal=pad; do
    mount_ds -o "$opts,index-cache=no" data mnt
    n=$(wc -l <mnt/epochs/1/rank-1-of-4.order)
    [ "$n" -ge 1 ] && [ "$n" -le 39 ] || fail "$n samples in a rank"
    for path in 0.tar 0@0.tar 0@39.tar 0@40.tar "1/rank-1-of-4@$n.tar"; do
        tar tf "mnt/epochs/$path" >names
        stat -c %s "mnt/epochs/$path" >size
    done
    [ ! -s names ] || fail "samples beyond the end: $(cat names)"
    [ "$(beyond)" = 0 ] || fail "$(cat mnt/.shufflefs/errors)"

    for path in 0@41.tar 0@2000.tar "1/rank-1-of-4@$((n + 1)).tar"; do
        for i in 1 2 3; do
            [ "$(tar tf "mnt/epochs/$path" | wc -l)" = 0 ] || fail "samples beyond the end"
        done
    done
    [ "$(beyond)" = 3 ] || fail "$(cat mnt/.shufflefs/errors)"
    errors_have mnt '"shard":"epochs/0@2000.tar","cause":"it begins beyond the end: the stream has only 40 samples"'
    errors_have mnt '"shard":"epochs/1/rank-1-of-4@'$((n + 1))'.tar","cause":".*has only '"$n samples\""
    # So it is with an order as text.
    [ "$(wc -c <mnt/epochs/0@40.order)" = 0 ] && [ "$(wc -c <mnt/epochs/0@42.order)" = 0 ] || fail "lines beyond the end"
    [ "$(beyond)" = 4 ] || fail "$(cat mnt/.shufflefs/errors)"
    errors_have mnt 'order file of epoch 0 that begins at sample 42 .* has only 40 samples'
    [ "$(stat_of mnt events_empty)" = 4 ] || fail "events_empty is $(stat_of mnt events_empty)"
    umount_ds mnt

    "$shufflefs" cat -o "$opts" data epochs/0@2000.tar 2>said | tar tf - >names
    said "^shufflefs: empty: epochs/0@2000.tar: it begins beyond the end: the stream has only 40 samples"
    "$shufflefs" cat -o "$opts" data epochs/0@40.tar 2>said | tar tf - >names
    [ ! -s said ] || fail "said: $(cat said)"
done
