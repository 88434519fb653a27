#!/bin/sh
# SPDX-License-Identifier: MIT
# Epochs and seeds differ in the order of the samples, and in nothing else; the same epoch
# and seed is the same anywhere.  An epoch's name is a canonical decimal.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
requires_fuse

make_shards data --shards 5 --samples 30 --bytes 1000
opts=lanes=3,buffer=32K
mount_ds -o $opts data mnt
mount_ds -o $opts,seed=1 data mnt1
mount_ds -o $opts data mnt2
largest=72057594037927935
orders=""
for m in mnt mnt1; do
    for e in 0 1 2 9 10 4294967295 4294967296 $largest; do
        "$python" "$top/tests/lib/compare.py" data "$m/epochs/$e.tar"
        orders="$orders $(tar tf "$m/epochs/$e.tar" | sha256sum | cut -c1-16)"
        size=$(stat -c %s "$m/epochs/$e.tar")
        [ "$size" = "$(stat -c %s mnt/epochs/0.tar)" ] || fail "size of epoch $e"
    done
done
n=$(echo "$orders" | tr ' ' '\n' | grep . | sort -u | wc -l)
[ "$n" = 16 ] || fail "only $n orders of 16: $orders"
for e in 0 1 $largest; do
    same mnt/epochs/$e.tar mnt2/epochs/$e.tar
    "$shufflefs" cat -o $opts data epochs/$e.tar | cmp - mnt/epochs/$e.tar
done

# Shards are dealt and samples shuffled: neighbours come from different shards.
tar tf mnt/epochs/0.tar | grep jpg | awk '{ s = int($1 / 30); n += s != last; last = s } END { exit n < 100 }' ||
    fail "neighbours are from one shard"

for bad in 007 00 -1 +1 1e3 0x10 1.0 "" " 1" "1 " ١ 18446744073709551616 99999999999999999999; do
    ! stat "mnt/epochs/$bad.tar" 2>said || fail "epochs/$bad.tar is there"
    grep -q "No such file" said || fail "$bad: $(cat said)"
    status=0
    "$shufflefs" cat data "epochs/$bad.tar" >out 2>said || status=$?
    [ $status = 1 ] && [ ! -s out ] && grep -q "No such file" said || fail "cat $bad: $(cat said)"
done
for m in mnt mnt1 mnt2; do umount_ds $m; done
