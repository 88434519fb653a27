#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Hold FUSE's threads of a mount as if they hung, and end its daemon by SIGTERM.

  HANG_TOO=NAME hang-threads.py PID   (a thread of ours, too)
  hang-threads.py PID   0: it has ended all the same; 77: no thread can be held here
"""
import ctypes
import os
import signal
import sys
import time

SEIZE, INTERRUPT, WALL = 0x4206, 0x4207, 0x40000000
pid, libc = int(sys.argv[1]), ctypes.CDLL(None, use_errno=True)

# FUSE's own threads have the program's name; those of ours have others.
held = []
for tid in map(int, os.listdir("/proc/%d/task" % pid)):
    with open("/proc/%d/task/%d/comm" % (pid, tid)) as f:
        name = f.read().strip()
    if tid == pid or name not in ("shufflefs", os.environ.get("HANG_TOO")):
        continue
    if libc.ptrace(SEIZE, tid, None, None) != 0:
        print("no ptrace here: %s" % os.strerror(ctypes.get_errno()))
        sys.exit(77)
    libc.ptrace(INTERRUPT, tid, None, None)
    os.waitpid(tid, WALL)
    held.append(tid)
assert held
os.kill(pid, signal.SIGTERM)
for _ in range(3000):  # (under a sanitizer, it gives up after 60 s)
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
