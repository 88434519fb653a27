#!/bin/sh
# SPDX-License-Identifier: MIT
# While a server fails, reads give EIO; the next ones after that give the right bytes: of
# streams, shards and samples, through the page cache or not.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"
requires_fuse

# fails FILE [FLAG], reads FILE WANT [FLAG]
fails() {
    ! dd if="mnt/$1" of=out bs=64K status=none ${2:+iflag=$2} 2>err || fail "$1 can be read"
    grep -q "Input/output error" err || fail "$1: $(cat err)"
    cmp -n "$(wc -c <out)" out "$3" || fail "$1: wrong bytes before the error"
}

reads() {
    dd if="mnt/$1" of=out bs=64K status=none ${2:+iflag=$2} || fail "$1 cannot be read"
    same "$3" out
}

each() {
    for flag in "" direct; do
        "$1" epochs/0.tar "$flag" want.tar
        "$1" "shards/train-000001.tar" "$flag" shards/train-000001.tar
    done
}

good_shards
start_origin shards
mkdir members
tar xf shards/train-000002.tar -C members
mount_ds $quick $brief -o retries=0 \
    "$origin/503,while=broken,over=1000/rst,while=gone,over=1000/404,while=missing,over=1000/$three" mnt
touch shards/broken
each fails
! ls mnt/samples/train-000002.tar >/dev/null 2>err || fail "members without bytes"
grep -q "Input/output error" err || fail "$(cat err)"
rm shards/broken
for fault in gone missing; do
    touch shards/$fault
    fails epochs/0.tar "" want.tar
    fails epochs/0.tar direct want.tar
    rm shards/$fault
done
each reads
diff -r members mnt/samples/train-000002.tar

# And again, in the middle of what is read already.
touch shards/broken
fails shards/train-000000.tar "" shards/train-000000.tar
rm shards/broken
sleep 2.5 # so long a page that failed is remembered
reads shards/train-000000.tar "" shards/train-000000.tar
errors_have mnt '"event":"lost","shard":"train-000000.tar","offset":[0-9]*,"cause":"http.*HTTP 503 (given up'
umount_ds mnt
