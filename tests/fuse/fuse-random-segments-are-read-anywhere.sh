#!/bin/sh
# SPDX-License-Identifier: MIT
# A mount with random segments has streams whose sizes are known, and which can be read at
# any byte, by ranks and from any sample on; a rank to which no segment is dealt is EINVAL,
# and a line says how many there can be.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
requires_fuse

make_shards data --shards 3 --samples 120 --bytes 60000 --format gnu --name "d-%d.tar"
opts="seed=6,lanes=12,buffer=2M,segment=random"
mount_ds -o $opts data mnt
for part in 1.tar 1/rank-0-of-2.tar 1/rank-1-of-2.tar 1/rank-1-of-4/worker-1-of-3.tar 1@77.tar \
    1/rank-1-of-2@50.tar; do
    "$shufflefs" cat -o $opts data epochs/$part >want.tar
    [ "$(stat -c %s mnt/epochs/$part)" = "$(stat -c %s want.tar)" ] || fail "size of $part"
    [ "$(stat -c %s want.tar)" -gt 500000 ] || fail "$part is short"
    for how in direct cached mapped; do
        "$python" "$top/tests/lib/check-reads.py" mnt/epochs/$part want.tar --how $how --reads 40 --seed 2
    done
    same want.tar mnt/epochs/$part
done
[ "$(stat -c %s mnt/epochs/4.tar)" = $(($(cat data/*.tar | wc -c) + 1024)) ] || fail "size of an epoch"

# One that nobody has read, first somewhere in the middle.
"$shufflefs" cat -o $opts data epochs/9/rank-2-of-3@10.tar >want.tar
"$python" "$top/tests/lib/check-reads.py" mnt/epochs/9/rank-2-of-3@10.tar want.tar --how direct --reads 20 --seed 3

# The ranks have each sample once.
for rank in 0 1 2 3; do
    cut -f 4,5 mnt/epochs/2/rank-$rank-of-4.order
done | sort >ranks
cut -f 4,5 mnt/epochs/2.order | sort >epoch
cmp ranks epoch
[ "$(sort -u epoch | wc -l)" = 360 ] || fail "$(wc -l <epoch) samples"
umount_ds mnt

# The shards are cut every 64 KiB: that is fewer segments than lanes.
n=$(($(cat data/*.tar | wc -c) / 65536 + 1))
[ $n -gt 192 ] && [ $n -lt 384 ] || fail "$n segments"
mount_ds -o lanes=384,segment=random data mnt
[ -s mnt/epochs/0/rank-$((n - 1))-of-384.tar ] || fail "rank $((n - 1)) has no segment"
! stat mnt/epochs/0/rank-$n-of-384.tar 2>said || fail "rank $n has a segment"
grep -q "Invalid argument" said || fail "$(cat said)"
errors_have mnt "no segment for rank $n of 384: there are only $n; use 192 ranks at most"
umount_ds mnt
