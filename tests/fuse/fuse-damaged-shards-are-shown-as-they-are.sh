#!/bin/sh
# SPDX-License-Identifier: MIT
# Damage in a shard is EIO for streams at that point; the shard's own bytes are what they
# are, and members before the damage can be read; folders that may lack some say so.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"
requires_fuse

small_shards
tar xf whole/train-000001.tar -C "$(mkdir members && echo members)"
flip "$(byte_of 000062.jpg)"
mount_ds $quick shards mnt
same "$victim" mnt/shards/$one
! cat mnt/epochs/0.tar >got.tar 2>err || fail "no error"
grep -q "Input/output error" err || fail "$(cat err)"
for name in 000040.jpg 000061.cls; do
    same members/$name mnt/samples/$one/$name
done
for name in 000062.jpg 000079.cls; do
    ! cat mnt/samples/$one/$name >got 2>err || fail "$name can be read"
    grep -q "Input/output error" err || fail "$name: $(cat err)"
done
! ls mnt/samples/$one >out 2>err || fail "a whole list"
grep -q "Input/output error" err || fail "$(cat err)"
[ "$(stat -c %s mnt/epochs/0.tar)" = "$(stat -c %s want.tar)" ] || fail "another size"
umount_ds mnt

# With on-error=skip, what is left is all there is; sizes are the same.
keep_before 000061.jpg
mount_ds $quick -o on-error=skip shards mnt
cat mnt/epochs/0.tar >got.tar
"$python" "$top/tests/lib/compare.py" rest got.tar
[ "$(stat -c %s got.tar)" = "$(stat -c %s want.tar)" ] || fail "another size"
same "$victim" mnt/shards/$one
[ "$(ls mnt/samples/$one | wc -l)" = 44 ] || fail "not the members before the damage"
! cat mnt/samples/$one/000079.cls 2>err || fail "a member behind the damage"
grep -q "No such file" err || fail "$(cat err)"
umount_ds mnt
