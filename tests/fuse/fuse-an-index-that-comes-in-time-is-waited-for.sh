#!/bin/sh
# SPDX-License-Identifier: MIT
# Who needs all samples known waits for as long as index-wait= says, though nothing is known
# of any shard for a while: shards are indexed side by side, and none may be done yet when
# all of them nearly are.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/parked.sh"
requires_fuse

# While there is a file shards/held, no body goes on after its first 4 KiB.
make_shards shards --shards 16 --bytes 20000 --samples 5
start_origin shards
held="$origin/pause,bytes=4096,over=600,while=held/train-{000000..000015}.tar"
opts="lanes=4,buffer=64K,segment=16K,index-cache=no"
"$shufflefs" cat -o $opts shards epochs/0.tar >want.tar
touch shards/held

mount_ds -o $opts,index-wait=60s,stall-timeout=10m,read-timeout=10m "$held" mnt
cleanup "end_daemon $(daemon_pid mnt)"
stat mnt/epochs/0.tar >said 2>&1 &
pid=$!
are_parked stat $pid
sleep 9 # for longer than 1/16 of twice the time, which was too long once
is_parked stat $pid || fail "too early: $(cat said)"
rm shards/held
wait $pid || fail "$(cat said)"
same want.tar mnt/epochs/0.tar
! grep . mnt/.shufflefs/errors || fail "an error"
umount_ds mnt
