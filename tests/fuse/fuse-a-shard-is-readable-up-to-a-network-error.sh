#!/bin/sh
# SPDX-License-Identifier: MIT
# Where a server always fails at one byte of a shard, all whole pages before it can be read,
# and what lies behind it, too.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"
requires_fuse

good_shards
start_origin shards
for fault in cut 503; do
    mount_ds $quick -o retries=0,read-timeout=4s "$origin/$fault,at=400000/train-000001.tar" mnt
    file=mnt/shards/train-000001.tar
    for flag in "" direct; do
        for bs in 4096 65536; do
            ! dd if=$file of=got bs=$bs status=none ${flag:+iflag=$flag} 2>err || fail "no error"
            grep -q "Input/output error" err || fail "$(cat err)"
            [ "$(wc -c <got)" -ge $((400000 / bs * bs)) ] ||
                fail "$fault, $flag, $bs: only $(wc -c <got) bytes"
            cmp -n "$(wc -c <got)" got shards/train-000001.tar
        done
        dd if=$file of=got bs=4096 skip=98 status=none ${flag:+iflag=$flag}
        tail -c +$((98 * 4096 + 1)) shards/train-000001.tar >want
        same want got
    done
    [ "$(stat -c %s $file)" = "$(stat -c %s shards/train-000001.tar)" ] || fail "another size"
    umount_ds mnt
done
