#!/bin/sh
# SPDX-License-Identifier: MIT
# requests_failed of stats.json counts what has a line in .shufflefs/errors, and nothing else: no index
# that was not found, no try of a probe that went well in the end.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"
requires_fuse

# agree N: as many requests failed, in stats as in lines.
agree() {
    n=$(stat_of mnt requests_failed)
    n_lines=$(grep -c '"event":"\(lost\|changed\)"' mnt/.shufflefs/errors || true)
    [ "$n" = "$n_lines" ] || fail "requests_failed is $n, with $n_lines lines"
    [ "$n" -ge "$1" ] || fail "$n failed requests, not $1"
}

good_shards --samples 10
start_origin shards

# Indexes that are not there, beside the shards and elsewhere, and failures that pass.
mount_ds $quick -o "segment=16K,index-cache=no,index=$origin/indexes" "$origin/503,times=1/ignorerange,times=1,after=1/$three" mnt
"$python" "$top/tests/lib/compare.py" shards mnt/epochs/0.tar
grep -q '"path": "/indexes/train-000001' "origin-log.$n_origins" || fail "no index was asked for"
agree 0
[ "$(stat_of mnt requests_failed)" = 0 ] || fail "requests failed"
umount_ds mnt

# What is lost has lines: of bytes, of a size (each time that it is asked for), and of a version.
mount_ds $quick "$origin/403,over=1000,only=*1.tar/$three" mnt
! cat mnt/epochs/0.tar >got 2>err || fail "an epoch without a shard"
! cat mnt/shards/train-000001.tar >got 2>err || fail "a shard that is forbidden"
agree 1
umount_ds mnt
touch shards/away shards/held
mount_ds $quick "$origin/403,only=*1.tar,while=away/held,only=*1.tar,while=held/$three" mnt
rm shards/held
! cat mnt/epochs/0.tar >got 2>err || fail "an epoch without a size"
agree 1
umount_ds mnt
mount_ds $quick shards mnt
cat mnt/shards/train-000002.tar >got
: >shards/train-000001.tar
! cat mnt/shards/train-000001.tar >got 2>err || fail "another version"
agree 1
umount_ds mnt
