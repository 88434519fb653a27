#!/bin/sh
# SPDX-License-Identifier: MIT
# The folders of 10,000 shards whose sizes nobody tells can be listed; only who asks for a
# size waits for it.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/parked.sh"
requires_fuse

# Sizes stall, but for those of the first and the last, for which the mount itself asks.
make_shards shards --shards 1 --name 00000.tar
"$python" -c '
import os
for i in range(1, 10000):
    os.link("shards/00000.tar", "shards/%05d.tar" % i)'
start_origin shards
mount_ds $patient,samples=yes "$origin/stall,only=*[1-8].tar/{00000..09999}.tar" mnt

timeout $patience ls mnt/shards >names || fail "ls shards/: status $?"
[ "$(wc -l <names)" = 10000 ] || fail "$(wc -l <names) shards"
seq -f %05.0f.tar 0 9999 | cmp - names || fail "other names"
timeout $patience ls mnt/samples | cmp - names || fail "samples/"
timeout $patience find mnt -maxdepth 2 -type f -path 'mnt/shards/*' | wc -l | grep -qx 10000 ||
    fail "find needs the kinds of files only"
[ "$(stat_of mnt shards_sized)" -lt 10000 ] || fail "there were no sizes to wait for"
[ "$(timeout $patience stat -c %s mnt/shards/09999.tar)" = "$(stat -c %s shards/09999.tar)" ] ||
    fail "a size that is known"

# Whoever needs a size waits for it; also for a stream.
stat mnt/shards/04321.tar &
one=$!
stat mnt/epochs/0.tar &
all=$!
are_parked stat $one $all
kill -KILL $one $all
wait_until 60 is_gone $one
wait_until 60 is_gone $all
umount_ds mnt
