#!/bin/sh
# SPDX-License-Identifier: MIT
# Extended attributes of streams: the order's identity, which the script computes too and
# which any other shard, size or setting changes; how many samples there are; and which of
# them holds a byte.  `shufflefs where` asks the same.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
requires_fuse
requires getfattr

# attribute FILE NAME
attribute() { getfattr --absolute-names --only-values -n "user.shufflefs.$2" "$1"; }

make_shards data --shards 9 --samples 30 --bytes 900 --restart-keys --odd
opts="seed=3,lanes=6,buffer=20000"
list() { "$python" "$top/scripts/order.py" list data "$1" --seed 3 --lanes 6 --buffer 20000 --segment $segment; }
segment=random
mount_ds -o $opts,segment=$segment data mnt

# Nothing is read of the shards before somebody asks for what needs it.
getfattr -d mnt/epochs/0.tar >said
grep -q "^user.shufflefs.order=\"[0-9a-f]\{16\}\"$" said || fail "$(cat said)"
! grep -q samples said || fail "samples are listed, and not counted"
[ "$(stat_of mnt requests)" -le 12 ] || fail "requests: $(stat_of mnt requests)"

# tells_truth NAME: how many samples there are, and which holds a byte, as the script lists them.
tells_truth() {
    list $1 >list
    [ "$(attribute mnt/epochs/$1 samples)" = "$(wc -l <list)" ] || fail "samples of $1"
    "$python" - mnt/epochs/$1 list <<'EOF'
import os, sys

name, rows = sys.argv[1], [line.split("\t") for line in open(sys.argv[2])]
starts = [int(row[1]) for row in rows] + [os.stat(name).st_size - 1024]

def at(offset):
    return int(os.getxattr(name, "user.shufflefs.sample-at.%d" % offset))

for i in range(0, len(rows), 7):
    assert at(starts[i]) == i, (name, i, at(starts[i]))
    assert i == 0 or at(starts[i] - 1) == i - 1, (name, i)
assert at(10**15) == len(rows), (name, at(10**15), len(rows))
EOF
}
names="0.tar 5.tar 5@40.tar 5/rank-1-of-3.tar 5/rank-1-of-3@17.tar 5/rank-0-of-2/worker-1-of-3.tar"
for name in $names; do tells_truth $name; done
[ "$(attribute mnt/epochs/5@999999.tar samples)" = 0 ] || fail "samples behind the end"
getfattr -d mnt/epochs/0.tar | grep -q '^user.shufflefs.samples="[0-9]*"$' || fail "not listed"

offset=$(list 5/rank-1-of-3@17.tar | sed -n 9p | cut -f2)
[ "$("$shufflefs" where mnt/epochs/5/rank-1-of-3@17.tar "$offset")" = 8 ] || fail "where"
for bad in "mnt/epochs/0.tar" "mnt/epochs/0.tar -1" "mnt/epochs/0.tar x" "mnt/README 0" "mnt/none 0" "$work 0"; do
    # shellcheck disable=SC2086 # words
    if "$shufflefs" where $bad >said 2>&1; then fail "where $bad: $(cat said)"; fi
    [ "$(grep -c "^shufflefs: " said)" = 1 ] || fail "where $bad: $(cat said)"
done

# Only streams have them; what is no offset is not a byte.
for file in mnt mnt/README mnt/shards/train-000000.tar mnt/epochs mnt/epochs/5; do
    [ -z "$(getfattr -d "$file")" ] || fail "$file: $(getfattr -d "$file")"
    ! attribute $file order 2>/dev/null || fail "$file has an order"
done
for bad in -1 1x "" 99999999999999999999; do
    attribute mnt/epochs/0.tar "sample-at.$bad" 2>said && fail "sample-at.$bad"
    grep -qi "invalid argument" said || fail "$(cat said)"
done
! attribute mnt/epochs/0.tar color 2>/dev/null || fail "an attribute that is not there"

# The identity: all streams have it, and each of what makes the order changes it.
order=$(attribute mnt/epochs/0.tar order)
[ "$(attribute mnt/epochs/7/rank-1-of-2@3.tar order)" = "$order" ] || fail "a part has another"
umount_ds mnt
segment=shard
mount_ds -o $opts,segment=$segment data mnt
for name in $names; do tells_truth $name; done
umount_ds mnt
# identity [OPTION...]: as the script computes it; and as a mount has it.
identity() {
    "$python" "$top/scripts/order.py" identity data "$@" >want
    mount_ds -o "$(echo "$*" | sed 's/--\([a-z]*\) \([^ ]*\) */\1=\2,/g')budget=1G" data mnt
    attribute mnt/epochs/0.tar order >got
    umount_ds mnt
    [ "$(cat want)" = "$(cat got)" ] || fail "$*: $(cat want) by the script, $(cat got) by the mount"
    cat want
    echo
}
[ "$(identity --seed 3 --lanes 6 --buffer 20000 --segment random)" = "$order" ] || fail "not $order"
{
    identity --seed 3 --lanes 6 --buffer 20000 --segment random
    identity --seed 3 --lanes 6 --buffer 20000 --segment shard
    identity --seed 4 --lanes 6 --buffer 20000 --segment random
    identity --seed 3 --lanes 7 --buffer 20000 --segment random
    identity --seed 3 --lanes 6 --buffer 20001 --segment random
    identity --seed 3 --lanes 6 --buffer 20000 --keys asis --segment random
    mv data/train-000003.tar data/train-000033.tar
    identity --seed 3 --lanes 6 --buffer 20000 --segment random
    head -c 512 /dev/zero >>data/train-000033.tar
    identity --seed 3 --lanes 6 --buffer 20000 --segment random
} >identities
[ "$(grep . identities | sort -u | wc -l)" = 8 ] || fail "$(cat identities)"

# A mount that expects an order refuses another one.
now=$(tail -2 identities | grep .)
mount_ds -o $opts,segment=random,expect-order=$now data mnt
umount_ds mnt
if "$shufflefs" mount -o $opts,segment=random,expect-order=$order data mnt 2>said; then fail "mounted"; fi
grep -q "the order is $now, but expect-order is $order" said || fail "$(cat said)"
if "$shufflefs" cat -o $opts,segment=random,expect-order=$order data epochs/0.tar 2>said >/dev/null; then fail "cat"; fi
for bad in x 123 $now$now; do
    if "$shufflefs" mount -o expect-order=$bad data mnt 2>said; then fail "mounted"; fi
    grep -q "16 hexadecimal digits" said || fail "$(cat said)"
done
