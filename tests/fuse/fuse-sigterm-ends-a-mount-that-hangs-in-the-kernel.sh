#!/bin/sh
# SPDX-License-Identifier: MIT
# FUSE's threads hang, and one of the daemon's waits in the kernel for a page that a read has locked,
# which nobody will answer: not even SIGKILL ends that.  After SIGTERM the process has gone all the
# same, the reader too, and no dead mount is left; by fusectl, or by force where there is none.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/parked.sh"
. "$top/tests/lib/notify-gate.sh"

control=control
mkdir control
mount -t fusectl none control || skip "no control of connections here"
cleanup "abort_it; umount $work/control"

# A process that ends by force joins no thread.
export TSAN_OPTIONS="${TSAN_OPTIONS:-}:report_thread_leaks=0"
start_stalling_origin
standard=/sys/fs/fuse/connections
for way in force fusectl; do
    if [ $way = force ] && mountpoint -q $standard; then
        continue
    elif [ $way = fusectl ]; then
        mountpoint -q $standard || mount --bind control $standard
    fi
    m=mnt$way
    mount_gated $m
    touch shards/stalled
    dd if=$m/epochs/0.tar of=/dev/null bs=64K status=none 2>/dev/null &
    reader=$!
    are_parked dd $reader
    touch gate
    wait_until 60 test -e gate.in
    notifies() {
        grep -qs inval /proc/"$pid"/task/*/stack || grep -lqs "^State:.D" /proc/"$pid"/task/*/status
    }
    wait_until 60 notifies
    # With the thread that answers what waits at SIGTERM held, too, nobody answers the reader.
    status=0
    HANG_TOO=sfs-deadline timeout $patience "$python" "$top/tests/lib/hang-threads.py" "$pid" || status=$?
    [ $status != 77 ] || skip "no thread can be stopped here"
    [ $status = 0 ] || { abort_it; kill -KILL "$pid"; fail "$way: status $status"; }
    wait_until 20 is_gone $reader
    exec 3<&-
    ! grep -q " $work/$m " /proc/self/mounts || fail "$way: still mounted"
done
