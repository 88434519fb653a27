#!/bin/sh
# SPDX-License-Identifier: MIT
# A daemon that was stopped for longer than read-timeout gives no EIO for that, and blames no server
# and no disk: when it goes on, readers get their bytes, even if connections have broken meanwhile.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/parked.sh"
requires_fuse

seconds=15
stalling_shards --shards 3
"$shufflefs" cat -o lanes=3,buffer=64K shards epochs/0.tar >want.tar
mount_ds -o stall-timeout=10m,read-timeout=${seconds}s,lanes=3,buffer=64K,index-cache=no,log-level=info "$stalling" mnt
daemon=$(daemon_pid mnt)
cleanup "end_daemon $daemon"

# Three readers wait: cached, direct, and in a look-up.
cat mnt/epochs/0.tar >got.tar 2>said.cached &
cached=$!
dd if=mnt/epochs/0.tar of=direct.tar bs=64K iflag=direct status=none 2>said.direct &
direct=$!
ls mnt/samples/train-000001.tar >names 2>said.names &
names=$!
are_parked cat $cached
are_parked dd $direct
are_parked ls $names

# The server goes meanwhile, and another one comes in its place.
stop "$daemon"
port=${origin##*:}
kill $origin_pid
wait $origin_pid || :
rm shards/stalled
start_origin shards "$port"
sleep $((seconds + 2)) # what this is about
kill -CONT "$daemon"

wait $cached || fail "cached: $(cat said.cached)"
wait $direct || fail "direct: $(cat said.direct)"
wait $names || fail "look-up: $(cat said.names)"
same want.tar got.tar
same want.tar direct.tar
[ "$(wc -l <names)" = 40 ] || fail "not all names: $(wc -l <names)"
! grep -q '"event":"lost"' mnt/.shufflefs/errors || fail "$(cat mnt/.shufflefs/errors)"
umount_ds mnt
