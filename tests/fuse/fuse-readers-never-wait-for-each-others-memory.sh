#!/bin/sh
# SPDX-License-Identifier: MIT
# However small the budget and however many readers: random reads, copies of shards, giant
# samples and several streams at a time all come to their end, with the right bytes.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
requires_fuse

# A trainer that reads on, slowly, so that its stream keeps all it may have.
cat >slow.py <<'EOF2'
import mmap, os, sys, time
fd, buf = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT), mmap.mmap(-1, 1 << 16)
for i in range(10**9):
    os.preadv(fd, [buf], i << 16)
    time.sleep(0.2)
EOF2
slow_reader() {
    "$python" slow.py "$1" &
    wait_until 20 sh -c "[ \$(sed -n 's/.*\"delivered_bytes\":\([0-9]*\).*/\1/p' $2/.shufflefs/stats.json) -gt 0 ]"
}

# Samples of 34 KB, whose keys restart, so that many are renamed.
make_shards small --shards 8 --samples 250 --bytes 34000 --restart-keys
options=lanes=8,buffer=4K,budget=24M,read-timeout=20s
for e in 0 1; do
    "$shufflefs" cat -o lanes=8,buffer=4K small epochs/$e.tar >small-$e.tar
done
mount_ds -o $options small mnt
slow_reader mnt/epochs/0.tar mnt
slow=$!
pids=""
for i in 1 2 3 4 5 6 7 8; do
    "$python" "$top/tests/lib/check-reads.py" mnt/epochs/0.tar small-0.tar --how direct --reads 10 --seed $i &
    pids="$pids $!"
done
for f in small/*.tar; do
    cmp "$f" "mnt/shards/${f#small/}" &
    pids="$pids $!"
done
# And a second stream, although the first one has taken all there was.
cmp small-1.tar mnt/epochs/1.tar &
for pid in $pids $!; do
    wait "$pid" || fail "a reader failed"
done
[ "$(stat_of mnt events_lost)" = 0 ] || fail "$(cat mnt/.shufflefs/errors)"
kill $slow
umount_ds mnt

# Two epochs at a time of samples that no lane can hold.
make_shards giant --shards 6 --samples 4 --bytes 5000000
for e in 0 1; do
    "$shufflefs" cat -o lanes=4,buffer=1M giant epochs/$e.tar >giant-$e.tar
done
mount_ds -o lanes=4,buffer=1M,budget=20M,read-timeout=20s giant mnt2
cmp giant-0.tar mnt2/epochs/0.tar &
first=$!
cmp giant-1.tar mnt2/epochs/1.tar || fail "epoch 1"
wait $first || fail "epoch 0"
umount_ds mnt2
