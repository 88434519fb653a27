#!/bin/sh
# SPDX-License-Identifier: MIT
# With on-error=skip a shard that is not there when its size is asked for is an empty one,
# which .shufflefs/errors names; all else is as it should be.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"
requires_fuse

good_shards --samples 10
start_origin shards
mkdir rest
cp shards/train-000000.tar shards/train-000002.tar rest
mount_ds $quick -o on-error=skip "$origin/404,only=*1.tar/$three" mnt
cat mnt/epochs/0.tar >got.tar
"$python" "$top/tests/lib/compare.py" rest got.tar
[ "$(stat -c %s got.tar)" = "$(stat -c %s mnt/epochs/0.tar)" ] || fail "another size"
[ "$(stat -c %s mnt/shards/train-000001.tar)" = 0 ] || fail "an empty shard with bytes"
[ -z "$(ls mnt/samples/train-000001.tar)" ] || fail "an empty shard with members"
errors_have mnt '"event":"skip","shard":"train-000001.tar","cause":".*HTTP 404","then":"it counts as an empty shard"'
[ "$(wc -l <mnt/.shufflefs/errors)" = 1 ] || fail "not one line"
umount_ds mnt

# It is the same dataset as one with an empty tar there, and cat agrees.
cat_of -o on-error=skip "$origin/404,only=*1.tar/$three" epochs/3.tar
mv got.tar three.tar
mv shards/train-000001.tar away
mount_ds $quick -o on-error=skip "shards/$three" mnt
same three.tar mnt/epochs/3.tar
umount_ds mnt
