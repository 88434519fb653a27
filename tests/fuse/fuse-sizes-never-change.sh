#!/bin/sh
# SPDX-License-Identifier: MIT
# Whatever the network does, a file's size stays, and a read below it gives all its bytes or
# an errno, never an early end; through the page cache and past it.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"
requires_fuse

good_shards
start_origin shards
faults=norange,while=busy,over=1000/cut,while=cut,bytes=9000,over=1000/rst,while=gone,over=1000
faults=$faults/stall,while=mute,over=1000
mount_ds $quick -o retries=0,stall-timeout=2s,connect-timeout=1s,read-timeout=2s "$origin/$faults/$three" mnt
"$python" - <<'EOF' || fail "a read or a size is wrong"
import errno, mmap, os, random, sys

rng = random.Random(5)
files = {"mnt/epochs/0.tar": "want.tar", "mnt/shards/train-000001.tar": "shards/train-000001.tar"}
want = {path: open(good, "rb").read() for path, good in files.items()}
fds = {(path, flag): os.open(path, os.O_RDONLY | flag)
       for path in files for flag in (0, os.O_DIRECT)}
counts = {"good": 0, "failed": 0}


def read(path, flag, at, n):
    """All of it, or an errno.  The kernel may say so of the last part only."""
    buf, got = mmap.mmap(-1, n), b""
    while len(got) < n:
        piece = os.preadv(fds[path, flag], [memoryview(buf)[:n - len(got)]], at + len(got))
        if piece == 0:
            sys.exit("%s ends at %d" % (path, at + len(got)))
        got += buf[:piece]
    return got


def try_some(flags):
    for (path, flag), fd in fds.items():
        if flag not in flags:
            continue
        size = len(want[path])
        n = rng.randrange(1, 48) * 4096
        at = rng.randrange((size - n) // 4096) * 4096
        try:
            if read(path, flag, at, n) != want[path][at:at + n]:
                sys.exit("wrong bytes of %s at %d" % (path, at))
            counts["good"] += 1
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            counts["failed"] += 1
        for stat in os.fstat(fd), os.stat(path):
            if stat.st_size != size:
                sys.exit("%s: size %d" % (path, stat.st_size))
        if not flag and rng.random() < .5:
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)


for fault in "busy cut gone mute busy cut gone".split():
    open("shards/" + fault, "w").close()
    for _ in range(6 if fault == "busy" else 1):
        try_some([os.O_DIRECT] if fault == "mute" else [0, os.O_DIRECT])
    os.unlink("shards/" + fault)
    try_some([0, os.O_DIRECT])
print(counts)
if not counts["good"] or not counts["failed"]:
    sys.exit("nothing was tried")
for (path, flag) in fds:
    if read(path, flag, 0, len(want[path])) != want[path]:
        sys.exit("wrong bytes of %s" % path)
EOF
same want.tar mnt/epochs/0.tar
umount_ds mnt
