#!/bin/sh
# SPDX-License-Identifier: MIT
# A lane that is longer than the others does not end a stream with two requests at a time:
# the fewer lanes have something left to ask for, the more each may have in flight.
. "${srcdir:-$(dirname "$0")/..}/tests/functions.sh"
requires_fuse

# 17 shards in 16 lanes.  The shard that one of them has more than the others falls silent.
order=lanes=16,buffer=1M
make_shards data --shards 17 --samples 40 --bytes 100000
start_origin data
"$python" "$top/scripts/order.py" list data 0.tar --lanes 16 --buffer 1048576 >list
last=$(sed -n '$s/.*\(train-[0-9]*\.tar\).*/\1/p' list)
mount_ds -o $order,connections=8,budget=32M,next-epoch=no,stall-timeout=1s,retries=1000 \
    "$origin/stall,while=stalled,over=600,only=$last/train-{000000..000016}.tar" mnt
touch data/stalled
# (Without the page cache, which would ask for much more than was read.)
dd if=mnt/epochs/0.tar of=have bs=128k iflag=direct status=none &
reader=$!

n_requests() {
    sed -n 's/.*"cursors":\[{[^}]*"requests":\([0-9]*\).*/\1/p' mnt/.shufflefs/stats.json
}
has_many() {
    [ "$(n_requests)" -ge 5 ]
}
has_come_near() {
    [ "$(stat -c %s have)" -ge $((near - 1048576)) ]
}
near=$(awk -F '\t' -v last="$last" '$4 == last && !n { n = $2 } END { print n }' list)
wait_until 60 has_come_near
sleep 0.5 # what else was in flight comes
wait_until 30 has_many

rm data/stalled
wait $reader || fail "the reader"
"$shufflefs" cat -o $order data epochs/0.tar >want
same want have
umount_ds mnt
