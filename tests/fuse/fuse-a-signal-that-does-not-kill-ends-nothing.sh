#!/bin/sh
# SPDX-License-Identifier: MIT
# A caller that is stopped and continued, or that has a handler for a signal, waits on: no look-up,
# stat, listing, open or direct read ends with EINTR, with SA_RESTART or without.  One that is
# killed after such a signal is gone at once all the same.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/parked.sh"
requires_fuse

stalling_shards --shards 3
mount_ds $patient,index-cache=no "$stalling" mnt
cleanup "end_daemon $(daemon_pid mnt)"

# call.py RESTART OPERATION PATH: makes the call once, and prints what came of it.
cat >call.py <<'EOF'
import ctypes, errno, mmap, os, signal, sys

libc = ctypes.CDLL(None, use_errno=True)
operation, path = sys.argv[2], sys.argv[3].encode()

# (Python's wrappers would make the call again.)
for number in signal.SIGALRM, signal.SIGUSR1, signal.SIGTERM:
    signal.signal(number, lambda *_: None)
    libc.siginterrupt(number, sys.argv[1] == "plain")


def told(ret):
    return ret if ret >= 0 else errno.errorcode[ctypes.get_errno()]


def listing():
    libc.opendir.restype = libc.readdir.restype = ctypes.c_void_p
    folder, n = libc.opendir(path), 0
    ctypes.set_errno(0)
    while folder and libc.readdir(ctypes.c_void_p(folder)):
        n += 1
    return errno.errorcode[ctypes.get_errno()] if ctypes.get_errno() else n - 2


def direct():
    fd = libc.open(path, os.O_RDONLY | os.O_DIRECT)
    memory = mmap.mmap(-1, 1 << 16)
    return told(libc.read(fd, ctypes.byref(ctypes.c_char.from_buffer(memory)), 1 << 16))


print({"stat": lambda: told(libc.access(path, os.R_OK)), "list": listing, "direct": direct,
       "open": lambda: told(min(0, libc.open(path, os.O_RDONLY)))}[operation]())
EOF

# calls NAME RESTART OPERATION PATH WANTED: in the background, waiting.
callers=""
comm=$(basename "$python")
calls() {
    "$python" call.py "$2" "$3" "$4" >"said.$1" 2>&1 &
    eval "pid_$1=$! wanted_$1=$5"
    callers="$callers $1"
    are_parked "$comm" $!
}
members=mnt/samples
calls look   restart stat   $members/train-000000.tar/000003.jpg 0
calls look2  plain   open   $members/train-000000.tar/000004.jpg 0
calls none   plain   stat   $members/train-000000.tar/nothing ENOENT
calls part   plain   stat   mnt/epochs/3@9.tar 0
calls list   restart list   $members/train-000001.tar 40
calls list2  plain   list   $members/train-000002.tar 40
calls direct restart direct mnt/epochs/0.tar 65536
calls mid    plain   direct mnt/shards/train-000001.tar 65536
calls killed plain   direct mnt/epochs/1.tar -
calls core   plain   direct mnt/epochs/2.tar -

pids=""
for caller in $callers; do
    eval "pids=\"$pids \$pid_$caller\""
done
for signal in STOP CONT ALRM USR1 TERM TSTP CONT ALRM; do
    kill -$signal $pids
done

# Two of them are killed now, long after the first signal, of which alone the kernel tells.
kill -KILL "$pid_killed"
wait_until 60 is_gone "$pid_killed"
kill -ABRT "$pid_core"
wait_until 60 is_gone "$pid_core"

rm shards/stalled
for caller in $callers; do
    eval "pid=\$pid_$caller wanted=\$wanted_$caller"
    status=0
    wait "$pid" || status=$?
    [ "$wanted" != - ] || continue
    [ "$(cat "said.$caller")" = "$wanted" ] ||
        fail "$caller: $(cat "said.$caller") (status $status), not $wanted"
done
umount_ds mnt
