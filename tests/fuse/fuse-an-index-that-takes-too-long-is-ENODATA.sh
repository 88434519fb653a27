#!/bin/sh
# SPDX-License-Identifier: MIT
# Equal lanes need to know all samples.  Where finding them takes longer than index-wait=,
# a look-up is ENODATA, with one line that names `shufflefs index`; the indexing goes
# on, and when it has ended the same path is there.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/parked.sh"
requires_fuse

stalling_shards --shards 5
opts="lanes=4,buffer=64K,segment=16K,index-cache=no"
mount_ds -o $opts,index-wait=2s,stall-timeout=2s,retries=1000,read-timeout=10m "$stalling" mnt

# no_data FILE SECONDS: within so many.
no_data() {
    status=0
    timeout "$2" stat "mnt/$1" >said 2>&1 || status=$?
    [ $status != 124 ] || fail "$1: still waiting"
    grep -q "No data available" said || fail "$1: $(cat said)"
}
no_data epochs/0.tar 20
n_requests=$(stat_of mnt requests)
[ "$n_requests" -lt 1000 ] || fail "$n_requests requests"

# Others wait as long, and the ledger has it once; what needs no samples is there.
no_data epochs/0.tar 20
no_data epochs/7/rank-1-of-2@3.tar 20
ls mnt/epochs | grep -qx 0.tar || fail "$(ls mnt/epochs)"
[ "$(stat -c %s mnt/shards/train-000002.tar)" = "$(stat -c %s shards/train-000002.tar)" ] || fail "size"
errors_have mnt "only 0 of 5 shards are indexed; .* and index-wait is 2 s"
[ "$(grep -c 'shufflefs index' mnt/.shufflefs/errors)" = 1 ] || fail "$(cat mnt/.shufflefs/errors)"

# The same path, later.
rm shards/stalled
wait_until 60 stat mnt/epochs/0.tar
for name in 0.tar 7/rank-1-of-2@3.tar; do
    "$shufflefs" cat -o $opts shards epochs/$name >want.tar
    [ "$(stat -c %s want.tar)" -gt 100000 ] || fail "$name is short"
    same want.tar mnt/epochs/$name
done
[ "$(grep -c 'shufflefs index' mnt/.shufflefs/errors)" = 1 ] || fail "$(cat mnt/.shufflefs/errors)"
umount_ds mnt

# Who waits holds up nobody who ends the mount.
touch shards/stalled
mount_ds -o $opts,stall-timeout=10m,index-wait=10m,read-timeout=10m "$stalling" mnt
daemon=$(daemon_pid mnt)
cleanup "end_daemon $daemon"
stat mnt/epochs/0.tar >said 2>&1 &
pid=$!
are_parked stat $pid
kill -TERM "$daemon"
wait_until 20 is_gone $pid
wait_until 20 is_gone "$daemon"
! wait $pid || fail "no error"
