#!/bin/sh
# SPDX-License-Identifier: MIT
# A rank that would have nothing, or cannot be, is EINVAL; a line names the path, says why,
# and what to do.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
requires_fuse
requires getfattr

make_shards five --shards 1 --samples 5
make_shards none --shards 2 --samples 0

# refused PATH WORDS: of the mount of $source with $opts; and by `cat`.
refused() {
    stat "mnt/epochs/$1" 2>said && fail "$1 is there: $source, $opts"
    grep -q "Invalid argument" said || fail "$(cat said)"
    errors_have mnt "\"event\":\"refused\",\"shard\":\"epochs/$1\".*$2"
    ! "$shufflefs" cat -o $opts $source "epochs/$1" 2>said >got || fail "$1 is there"
    grep -q "$2" said || fail "$(cat said)"
    [ ! -s got ] || fail "bytes"
}

# has PATH N: so many samples.
has() {
    n=$(getfattr --absolute-names --only-values -n user.shufflefs.samples "mnt/epochs/$1")
    [ "$n" = "$2" ] || fail "$1 has $n samples: $source, $opts"
    [ "$(tar tf "mnt/epochs/$1" | wc -l)" = $((2 * $2)) ] || fail "$(tar tf "mnt/epochs/$1")"
}

source=five opts=lanes=12,segment=sample
mount_ds -o $opts $source mnt
refused 0/rank-3-of-2.tar "numbered from 0 to 1"
refused 0/rank-0-of-5.tar "5 ranks do not divide 12 lanes: mount with lanes=15 (or 10)"
refused 0/rank-0-of-24.tar "mount with lanes=24,"
refused 0/rank-0-of-2/worker-2-of-2.tar "numbered from 0 to 1"
refused 0/rank-5-of-6.tar "only 5; use 4 ranks at most, or mount with equal=pad"
refused 0/rank-11-of-12@3.tar "only 5; use 4 ranks at most, or mount with equal=pad"
refused 0/rank-5-of-6/worker-0-of-2.tar "only 5; use 4 ranks at most, or mount with equal=pad"
has 0/rank-4-of-6.tar 1
has 0/rank-4-of-6/worker-1-of-2.tar 0
umount_ds mnt

opts=lanes=12,segment=4K,equal=drop
mount_ds -o $opts $source mnt
refused 0/rank-0-of-6.tar "only 5; use 4 ranks at most, or mount with equal=pad"
has 0/rank-3-of-4.tar 1
umount_ds mnt

opts=lanes=12,equal=pad
mount_ds -o $opts $source mnt
has 0/rank-5-of-6.tar 1
has 0/rank-11-of-12.tar 1
has 0/rank-3-of-4.tar 2
umount_ds mnt

source=none
mount_ds -o $opts $source mnt
refused 0/rank-0-of-1.tar "contain no samples"
has 0.tar 0
umount_ds mnt

# Whole shards: smaller segments are a way out.
source=five opts=lanes=12
mount_ds -o $opts $source mnt
refused 0/rank-1-of-2.tar "only 1; use 1 rank at most, or mount with segment=SIZE"
has 0/rank-0-of-2.tar 5
umount_ds mnt
