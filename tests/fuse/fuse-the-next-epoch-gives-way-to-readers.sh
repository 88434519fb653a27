#!/bin/sh
# SPDX-License-Identifier: MIT
# What is fetched ahead of the next epoch takes nothing from readers: it is not begun while
# one of them has not enough, and is dropped when one waits for memory, or when nobody comes
# to read it.  It delays no unmounting, and its errors are nobody's.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/parked.sh"
requires_fuse

order=lanes=8,buffer=1M
make_shards data --shards 24 --samples 25 --bytes 30000
start_origin data
source="$origin/train-{000000..000023}.tar"
for e in 0 1 5; do
    "$shufflefs" cat -o $order data epochs/$e.tar >$e.tar
done

# streams DIR: the epochs of all streams there are.
streams() {
    "$python" -c 'import json, sys
print(*sorted(s["epoch"] for s in json.load(open(sys.argv[1] + "/.shufflefs/stats.json"))["streams"]))' "$1"
}
has_streams() {
    [ "$(streams "$1")" = "$2" ]
}
has_given_back() {
    [ "$(stat_of "$1" budget_used_bytes)" -lt 1048576 ] && has_streams "$1" ""
}

# Nobody comes.
mount_ds -o $order,next-epoch=yes "$source" mnt1
cat mnt1/epochs/0.tar >/dev/null
wait_until 30 has_streams mnt1 1

# Unmounted at once, while it is on its way: from a server that has fallen silent.
mount_ds -o $order,next-epoch=yes,stall-timeout=10m "$origin/stall,while=stalled,over=600/train-{000000..000023}.tar" mnt2
daemon=$(daemon_pid mnt2)
cleanup "end_daemon $daemon"
exec 3<mnt2/epochs/0.tar
head -c 14000000 <&3 >/dev/null
wait_until 30 has_streams mnt2 "0 1"
cat <&3 >/dev/null
exec 3<&-
cat mnt2/epochs/1.tar >/dev/null
touch data/stalled
exec 3<mnt2/epochs/2.tar
umount -l mnt2
exec 3<&-
wait_until 30 is_gone "$daemon"
rm data/stalled

# A small budget: another reader gets what it needs.  (While epoch 0 is open, what is
# ahead of it would stay.)
mount_ds -o $order,next-epoch=yes,budget=14M,read-timeout=60s "$source" mnt3
exec 3<mnt3/epochs/0.tar
cmp 0.tar - <&3 || fail "epoch 0"
wait_until 30 has_streams mnt3 "0 1"
exec 4<mnt3/epochs/7.tar
head -c 1000000 <&4 >/dev/null
cmp 5.tar mnt3/epochs/5.tar || fail "epoch 5"
wait_until 30 has_streams mnt3 "0 7"
exec 3<&- 4<&-
cmp 1.tar mnt3/epochs/1.tar || fail "epoch 1"
[ "$(stat_of mnt3 events_lost)" = 0 ] || fail "$(cat mnt3/.shufflefs/errors)"
umount_ds mnt3

# A reader whom the network keeps waiting: until it has enough, nothing is begun.  (What
# another one still reads had been fetched before.)
mount_ds -o $order,next-epoch=yes,connections=4,stall-timeout=1s,retries=1000 \
    "$origin/stall,while=slow,over=600/train-{000000..000023}.tar" mnt4
exec 3<mnt4/epochs/0/rank-0-of-2.tar
head -c 2000000 <&3 >/dev/null
wait_until 30 grep -q '"requests":0,' mnt4/.shufflefs/stats.json
touch data/slow
cat mnt4/epochs/0/rank-1-of-2.tar >/dev/null &
slow=$!
are_parked cat $slow
cat <&3 >/dev/null
sleep 2.5
has_streams mnt4 "0 0" || fail "begun while a reader waits for the network: $(streams mnt4)"
rm data/slow
wait $slow || fail "the reader that had to wait"
wait_until 30 sh -c 'grep -q "\"epoch\":1,\"first_lane\":0,\"lane_step\":2,.*\"ready_bytes\":[1-9]" mnt4/.shufflefs/stats.json'
exec 3<&-
umount_ds mnt4

# A shard that is missing is an error of who reads the epoch, and of nobody before.
mount_ds -o $order,next-epoch=yes,retries=0 "$origin/404,while=gone,over=600,only=*7.tar/train-{000000..000023}.tar" mnt5
exec 3<mnt5/epochs/0.tar
head -c 5000000 <&3 >/dev/null
wait_until 30 grep -q '"requests":0,' mnt5/.shufflefs/stats.json
touch data/gone
cat <&3 >/dev/null || fail "epoch 0, of which all had been fetched"
exec 3<&-
wait_until 30 has_streams mnt5 1
! cat mnt5/epochs/1.tar >/dev/null 2>&1 || fail "no error"
rm data/gone
cmp 1.tar mnt5/epochs/1.tar || fail "epoch 1, of which a shard was missing"
umount_ds mnt5

# And nobody has come.
wait_until 60 has_given_back mnt1
umount_ds mnt1
