#!/bin/sh
# SPDX-License-Identifier: MIT
# An .order is made to find its size, and again as far as it is read, which takes a while.  As
# many as open one or read near its end, other files are answered meanwhile; and who is killed
# is gone at once.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
requires_fuse

make_dense 40 12000
mount_ds -o lanes=8,buffer=1M,index-cache=no dense mnt
head -c 1000 mnt/epochs/0.order >/dev/null # the names of all members are known then
cat >readers.py <<'EOF'
import os, signal, subprocess, sys, threading, time

N = 24
READ = """
import os, sys
print(flush=True)
fd = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT)
assert os.pread(fd, 4096, os.fstat(fd).st_size - 9)[-1:] == b"\\n"
"""


def answered_meanwhile(first):
    """Are other files answered before half of N such readers, of epochs from this one on, are?"""
    readers = [subprocess.Popen([sys.executable, "-c", READ, "mnt/epochs/%d.order" % i], stdout=subprocess.PIPE)
               for i in range(first, first + N)]
    for reader in readers:
        reader.stdout.readline()  # it opens its file now
    stats = open("mnt/.shufflefs/stats.json").read()
    names = os.listdir("mnt/epochs"), os.stat("mnt/shards/0.tar").st_size
    ended = sum(reader.poll() is not None for reader in readers)
    print(ended, "of", N, "had ended when stats.json was there")
    assert '"pid"' in stats
    for reader in readers:
        reader.kill()
    for reader in readers:
        assert reader.wait() in (0, -signal.SIGKILL)
    killed = sum(reader.returncode != 0 for reader in readers)
    print(killed, "were killed before they had their byte")
    return ended < N / 2


# On a busy machine this process may get its turn when they have ended: then once more.
if not any(answered_meanwhile(1 + N * i) for i in range(8)):
    sys.exit("other files are answered only after such readers")
EOF
"$python" readers.py
kill -0 "$(daemon_pid mnt)" || fail "the daemon has died"
cat mnt/epochs/1000.order | wc -l | grep -qx 480000 || fail "not every sample has its line"
