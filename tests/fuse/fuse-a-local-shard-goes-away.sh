#!/bin/sh
# SPDX-License-Identifier: MIT
# A local shard that is cut, grows, or is removed while it is mounted is an errno for who
# reads on, never another version's bytes or an early end.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"
requires_fuse

# fails FILE WORDS WANT: this errno, after nothing but right bytes.
fails() {
    for flag in "" direct; do
        ! dd if="mnt/$1" of=got bs=64K status=none ${flag:+iflag=$flag} 2>err ||
            fail "$1 can be read"
        grep -q "$2" err || fail "$1: $(cat err)"
        cmp -n "$(wc -c <got)" got "$3" || fail "wrong bytes of $1"
    done
}

good_shards --samples 20
cp -rp shards whole
for harm in "truncate -s 10000" "truncate -s 0" "truncate -s +1M" "rm"; do
    mount_ds $quick shards mnt
    shard_size=$(stat -c %s mnt/shards/train-000001.tar)
    size=$(stat -c %s mnt/epochs/0.tar)
    $harm shards/train-000001.tar
    fails shards/train-000001.tar "Stale file handle\|No such file" whole/train-000001.tar
    fails epochs/0.tar "Stale file handle\|Input/output error" want.tar
    [ "$(stat -c %s mnt/shards/train-000001.tar)" = "$shard_size" ] || fail "another size"
    [ "$(stat -c %s mnt/epochs/0.tar)" = "$size" ] || fail "another size"
    grep -q '"shard":"train-000001.tar","offset"' mnt/.shufflefs/errors || fail "not reported"
    umount_ds mnt
    cp -p whole/train-000001.tar shards
done
