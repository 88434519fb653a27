#!/bin/sh
# SPDX-License-Identifier: MIT
# SIGTERM and SIGINT end the mount, in use or not, and leave nothing behind.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
requires_fuse

make_shards data --shards 2
for signal in TERM INT; do
    mount_ds data mnt
    pid=$(daemon_pid mnt)
    kill -$signal "$pid"
    wait_until 10 sh -c "! grep -q ' $work/mnt ' /proc/self/mounts"
    wait_until 15 sh -c "! kill -0 $pid || grep -q '^State:.*Z' /proc/$pid/status"
done

# In the foreground the exit status is 0.
mkdir -p mnt
"$shufflefs" mount -f data mnt &
job=$!
wait_until 10 test -e mnt/README
exec 3<mnt/epochs/0.tar
head -c 1000 <&3 >/dev/null
kill -TERM $job
wait $job || fail "exit status $?"
! grep -q " $work/mnt " /proc/self/mounts || fail "still mounted"
exec 3<&-
