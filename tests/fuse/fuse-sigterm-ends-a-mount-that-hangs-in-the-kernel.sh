#!/bin/sh
# SPDX-License-Identifier: MIT
# FUSE's threads hang, and one of the daemon's waits in the kernel for a page that a read has locked,
# which nobody will answer: not even SIGKILL ends that.  After SIGTERM the process has gone all the
# same, the reader too, and no dead mount is left; by fusectl, or by force where there is none.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/parked.sh"
. "$top/tests/lib/notify-gate.sh"

make_control

# A process that ends by force joins no thread.
export TSAN_OPTIONS="${TSAN_OPTIONS:-}:report_thread_leaks=0"
start_stalling_origin
for way in force fusectl; do
    end_by $way || continue
    m=mnt$way
    hang_at_gate $m
    # With the thread that answers what waits at SIGTERM held, too, nobody answers the reader.
    status=0
    HANG_TOO=sfs-deadline timeout $patience "$python" "$top/tests/lib/hang-threads.py" "$pid" || status=$?
    [ $status != 77 ] || skip "no thread can be stopped here"
    [ $status = 0 ] || { abort_it; kill -KILL "$pid"; fail "$way: status $status"; }
    wait_until 20 is_gone $reader
    exec 3<&-
    ! grep -q " $work/$m " /proc/self/mounts || fail "$way: still mounted"
done
