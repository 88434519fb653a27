#!/bin/sh
# SPDX-License-Identifier: MIT
# A thread of FUSE that hangs for good keeps no mount alive: ten seconds after SIGTERM the
# process is gone, and no dead mount is left.
. "${srcdir:-$(dirname "$0")/..}/tests/functions.sh"
requires_fuse

make_shards data --shards 1
# A process that ends by force joins no thread.
export TSAN_OPTIONS="${TSAN_OPTIONS:-}:report_thread_leaks=0"
mount_ds data mnt
cat >hang.py <<'EOF'
import ctypes, os, signal, sys, time

SEIZE, INTERRUPT, WALL = 0x4206, 0x4207, 0x40000000
pid, libc = int(sys.argv[1]), ctypes.CDLL(None, use_errno=True)

# FUSE's own threads have the program's name; those of ours have others.
held = []
for tid in map(int, os.listdir("/proc/%d/task" % pid)):
    with open("/proc/%d/task/%d/comm" % (pid, tid)) as f:
        is_fuse = f.read().strip() == "shufflefs" and tid != pid
    if not is_fuse:
        continue
    if libc.ptrace(SEIZE, tid, None, None) != 0:
        print("no ptrace here: %s" % os.strerror(ctypes.get_errno()))
        sys.exit(77)
    libc.ptrace(INTERRUPT, tid, None, None)
    os.waitpid(tid, WALL)
    held.append(tid)
assert held
os.kill(pid, signal.SIGTERM)
for _ in range(600):
    try:  # (a thread that is traced is a zombie until its tracer has seen it end)
        while os.waitpid(-1, WALL | os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass
    try:
        with open("/proc/%d/stat" % pid) as f:
            if f.read().rsplit(")", 1)[1].split()[0] in "ZX":
                break
    except FileNotFoundError:
        break
    time.sleep(0.05)
else:
    sys.exit("it still runs")
EOF
status=0
pid=$(daemon_pid mnt)
"$python" hang.py "$pid" || status=$?
[ $status != 77 ] || skip "no thread can be stopped here"
[ $status = 0 ] || { kill -KILL "$pid"; fail "status $status"; }
! grep -q " $work/mnt " /proc/self/mounts || fail "still mounted"
