#!/bin/sh
# SPDX-License-Identifier: MIT
# A thread of FUSE that hangs for good keeps no mount alive: ten seconds after SIGTERM the
# process is gone, and no dead mount is left.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
requires_fuse

make_shards data --shards 1
# A process that ends by force joins no thread.
export TSAN_OPTIONS="${TSAN_OPTIONS:-}:report_thread_leaks=0"
mount_ds data mnt
status=0
pid=$(daemon_pid mnt)
"$python" "$top/tests/lib/hang-threads.py" "$pid" || status=$?
[ $status != 77 ] || skip "no thread can be stopped here"
[ $status = 0 ] || { kill -KILL "$pid"; fail "status $status"; }
! grep -q " $work/mnt " /proc/self/mounts || fail "still mounted"
