#!/bin/sh
# SPDX-License-Identifier: MIT
# Two mounts share a cache; one that is killed leaves nothing wrong.  What a mount cannot use
# stands in .shufflefs/errors, if it is not in the cache.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/indexed.sh"
requires_fuse

some_shards
: >shards/$one.index
mount_ds $opts shards mnt
mount_ds $opts shards mnt2
cat mnt/epochs/0.tar >got.tar &
cat mnt2/epochs/0.tar >got2.tar
wait $! || fail "reading both"
same want.tar got.tar
same want.tar got2.tar
kill -KILL "$(daemon_pid mnt2)"
wait_until 10 test "$(n_indexes home/.cache)" = 3
# (Whole shards are read through without one.)
[ "$(grep -c '"event":"index"' mnt/.shufflefs/errors)" -le 1 ] || fail "$(cat mnt/.shufflefs/errors)"
umount_ds mnt
umount_ds mnt2

for segment in shard random; do
    "$shufflefs" cat $opts,index-cache=no,segment=$segment shards $tail >tail.tar
    mount_ds $opts,segment=$segment shards mnt
    same tail.tar mnt/$tail
    errors_have mnt "\"event\":\"index\",\"shard\":\"$one\".*\"cause\":\"the index $work/shards/$one.index is not used: .*\"then\":\"its headers are read instead; index it again\""
    [ "$(grep -c '"event"' mnt/.shufflefs/errors)" = 1 ] || fail "$(cat mnt/.shufflefs/errors)"
    # (No headers, and what is around the cuts of random segments: all shards have 2.5 MB.)
    fetched=$(stat_of mnt fetched_bytes)
    [ "$fetched" -le $(($(wc -c <tail.tar) + 600000)) ] || fail "$fetched bytes were fetched"
    umount_ds mnt
done
[ "$(n_indexes shards)" = 1 ] && [ ! -s shards/$one.index ] || fail "something was written beside the shards"
