#!/bin/sh
# SPDX-License-Identifier: MIT
# A shard that changes while it is mounted is ESTALE, for its streams, its bytes and its
# members: a remote one by its tag, a local one by its time; what was read stays readable.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"
requires_fuse

stale() {
    ! cat "mnt/$1" >got 2>err || fail "$1 can be read"
    grep -q "Stale file handle" err || fail "$1: $(cat err)"
    cmp -n "$(wc -c <got)" got "$2" || fail "wrong bytes of $1"
}

good_shards --samples 10
cp -r shards whole
start_origin shards
for source in "$origin/$three" shards; do
    mount_ds $quick "$source" mnt
    size=$(stat -c %s mnt/epochs/0.tar)
    same whole/train-000002.tar mnt/shards/train-000002.tar
    tr a b <whole/train-000001.tar >shards/train-000001.tar
    stale shards/train-000001.tar whole/train-000001.tar
    stale epochs/0.tar want.tar
    ! ls mnt/samples/train-000001.tar >/dev/null 2>err || fail "members of another version"
    errors_have mnt '"event":"changed","shard":"train-000001.tar"'
    [ "$(stat -c %s mnt/epochs/0.tar)" = "$size" ] || fail "another size"
    same whole/train-000002.tar mnt/shards/train-000002.tar
    same whole/train-000000.tar mnt/shards/train-000000.tar
    umount_ds mnt
    cp -p whole/train-000001.tar shards/
done
