#!/bin/sh
# SPDX-License-Identifier: MIT
# Of many reads of a shard, those that meet a bad answer get an error; the
# others get their bytes, and soon.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
requires_fuse

make_shards data --shards 1 --samples 40 --bytes 700000
start_origin data
touch data/bad
mount_ds -o retries=0,read-timeout=100s \
    "$origin/norange,at=6600000,while=bad/trickle,at=5600000,bytes=60000,ms=20/train-000000.tar" mnt
cat >read.py <<'EOF2'
import errno, mmap, os, threading, time
fd = os.open("mnt/shards/train-000000.tar", os.O_RDONLY | os.O_DIRECT)
want = open("data/train-000000.tar", "rb").read()
failed, slow = [], []


def read(offset, n):
    buf, begun = mmap.mmap(-1, n), time.time()
    try:
        got = os.preadv(fd, [buf], offset)
        assert buf[:got] == want[offset:offset + n]
    except OSError as e:
        assert e.errno == errno.EIO, e
        failed.append((offset, n))
    if time.time() - begun > 60:
        slow.append(offset)


for i in range(4):
    read(i << 20, 1 << 20)
threads = [threading.Thread(target=read, args=((4 << 20) + i * 655360, 655360)) for i in range(12)]
for t in threads:
    t.start()
    time.sleep(0.01)
for t in threads:
    t.join()
assert failed, "the bad answer hit nobody"
assert all(o <= 6600000 + (4 << 20) and o + n > 6600000 - (4 << 20) for o, n in failed), failed
assert not slow, "waited for the read-timeout: %s" % slow
EOF2
"$python" read.py
rm data/bad
cmp data/train-000000.tar mnt/shards/train-000000.tar # and now all of it
umount_ds mnt
