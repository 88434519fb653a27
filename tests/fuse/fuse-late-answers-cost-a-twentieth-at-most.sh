#!/bin/sh
# SPDX-License-Identifier: MIT
# However many answers are late, what is asked for once more is at most one byte in twenty of
# those that come.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
requires_fuse

# Of ten shards four are slow whenever they are asked, so asking once more is of no use: both
# answers come to their ends.
make_shards data --shards 400 --samples 2 --bytes 60000
start_origin data
mount_ds -o lanes=64,next-epoch=no \
    "$origin/trickle,bytes=4000,ms=10,over=1000,only=*%5B1357%5D.tar/train-{000000..000399}.tar" mnt
cat mnt/epochs/0.tar >got
"$shufflefs" cat -o lanes=64 data epochs/0.tar | cmp - got || fail "other bytes"

fetched=$(stat_of mnt fetched_bytes)
twice=$(stat_of mnt hedged_bytes)
echo "$(stat_of mnt hedges) late answers, $twice bytes twice, $fetched bytes once"
[ "$twice" -gt 0 ] || fail "nothing was asked for once more"
[ $((19 * twice)) -le "$fetched" ] || fail "too much"
umount_ds mnt
