#!/bin/sh
# SPDX-License-Identifier: MIT
# A server that is ill, and answers the question for a size with a 416, with nothing or with
# some bytes, makes no shard empty: that is an error which passes.  One that is well again is
# believed without mounting anew, and a shard that is empty is one, which on-error=skip leaves out.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"
requires_fuse

good_shards --samples 10
start_origin shards

# Once is asked for again, without a word.
for fault in 416,total=0 416,total=none 416 200,body=0 few,bytes=10; do
    arrives "$origin/$fault,under=513,only=*1.tar,times=1/$three"
done

for fault in 416,total=0 416,total=none 200,body=0 few,bytes=10; do
    for when in under=513 always; do
        touch shards/ill
        mount_ds $quick -o retries=1 "$origin/$fault,while=ill,only=*1.tar,$when/$three" mnt
        ! stat -c %s mnt/shards/train-000001.tar >got 2>err || fail "$fault: $(cat got) bytes"
        grep -q "Input/output error" err || fail "$(cat err)"
        errors_have mnt 'train-000001.tar.*\(which no tar has, and did not confirm\|HTTP 416\)'
        rm shards/ill
        wait_until 20 stat mnt/shards/train-000001.tar
        same shards/train-000001.tar mnt/shards/train-000001.tar
        same want.tar mnt/epochs/0.tar
        umount_ds mnt
    done
done

# What is tiny, and said to be so in two ways, is tiny: as nginx, MinIO and AIStore say it.
for size in 0 10; do
    truncate -s $size shards/train-000001.tar
    for fault in blind 416,total=none,under=513 416,total=0,under=513; do
        [ $size = 0 ] || [ $fault = blind ] || continue
        mount_ds $quick -o on-error=skip "$origin/$fault,only=*1.tar/$three" mnt
        [ "$(stat -c %s mnt/shards/train-000001.tar)" = $size ] || fail "another size"
        same shards/train-000001.tar mnt/shards/train-000001.tar
        umount_ds mnt
    done
done
