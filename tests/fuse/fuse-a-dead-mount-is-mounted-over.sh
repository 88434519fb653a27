#!/bin/sh
# SPDX-License-Identifier: MIT
# When the daemon is killed its readers get ENOTCONN, and a new mount over the dead one
# works, as does unmounting it.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
requires_fuse

make_shards data --shards 2
mount_ds data mnt
kill -9 "$(daemon_pid mnt)"
wait_until 10 sh -c "! ls mnt"
ls mnt 2>err && fail "the mount lives on"
grep -q "Transport endpoint is not connected" err || fail "$(cat err)"
mount_ds data mnt
tar tf mnt/epochs/0.tar >/dev/null
[ "$(grep -c " $work/mnt " /proc/self/mounts)" = 1 ] || fail "the dead mount is still below"
kill -9 "$(daemon_pid mnt)"
wait_until 10 sh -c "! ls mnt"
umount_ds mnt
ls mnt
