#!/bin/sh
# SPDX-License-Identifier: MIT
# A reader that reads on from the middle of an epoch is served like one from the start: each
# byte is fetched about once.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
requires_fuse

make_shards data --shards 30 --samples 100 --bytes 50000
mount_ds -o lanes=10,buffer=4M data mnt
"$shufflefs" cat -o lanes=10,buffer=4M data epochs/2.tar >whole.tar
size=$(stat -c %s whole.tar)
half=$((size / 2 / 1048576))
dd if=mnt/epochs/2.tar of=tail.tar bs=1M skip=$half iflag=direct status=none
dd if=whole.tar of=wanted.tar bs=1M skip=$half status=none
same wanted.tar tail.tar
fetched=$(stat_of mnt fetched_bytes)
# The scan may have read all, the tail half of it again.
[ "$fetched" -le $((size * 2)) ] || fail "fetched $fetched of a stream of $size"
[ "$(stat_of mnt reads_random)" -le 20 ] || fail "$(stat_of mnt reads_random) random reads"
umount_ds mnt
