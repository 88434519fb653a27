#!/bin/sh
# SPDX-License-Identifier: MIT
# The budget has room for the lanes of two streams, and two readers never let go of them: the
# readers of six others get all their bytes all the same, from the first byte to the last and at
# random, well before read-timeout.  One line says what that costs.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
requires_fuse

mkdir mnt
make_shards data --shards 6 --samples 24 --bytes 60000

cat >read.py <<'EOF'
import mmap, os, random, sys, threading, time
STEP = 256 << 10
failed, done = [], threading.Event()
buffers = threading.local()

def read(fd, at, n=STEP):
    if not hasattr(buffers, "map"):
        buffers.map = mmap.mmap(-1, STEP)
    n = os.preadv(fd, [memoryview(buffers.map)[:n]], at)
    return buffers.map[:n]

def check(fd, want, at, n=STEP):
    got = read(fd, at, n)
    if got != want[at:at + len(got)] or (not got and at < len(want)):
        failed.append("wrong bytes at %d" % at)
    return len(got)

def guard(f, *args):
    try:
        f(*args)
    except Exception as e:
        failed.append("%s%r: %s" % (f.__name__, args[:1], e))

def open_epoch(k):
    want = open("want.%d" % k, "rb").read()
    return os.open("mnt/epochs/%d.tar" % k, os.O_RDONLY | os.O_DIRECT), want

# Reads slowly, again and again, and so keeps its cursor.
def hold(k, has_begun):
    fd, want = open_epoch(k)
    while not done.is_set() and not failed:
        at = 0
        while not done.is_set() and at < len(want):
            at += check(fd, want, at, 64 << 10)
            has_begun.set()
            done.wait(0.02)

def all_of_it(k):
    fd, want = open_epoch(k)
    at = n = 0
    while at < len(want) and not failed:
        n = check(fd, want, at)
        at += n

def at_random(k):
    fd, want = open_epoch(k)
    rng = random.Random(k)
    for i in range(40):
        check(fd, want, rng.randrange(len(want)) // 4096 * 4096, 65536)

holders = []
for k in 0, 1:
    has_begun = threading.Event()
    holders.append(threading.Thread(target=guard, args=(hold, k, has_begun)))
    holders[-1].start()
    while not has_begun.wait(0.05) and not failed:
        pass
others = [threading.Thread(target=guard, args=(at_random if k % 3 == 2 else all_of_it, k))
          for k in range(2, 8)]
for t in others:
    t.start()
for t in others:
    t.join()
done.set()
for t in holders:
    t.join()
if failed:
    sys.exit("\n".join(failed))
EOF

for order in lanes=3,seed=4 lanes=3,seed=4,segment=sample; do
    for k in 0 1 2 3 4 5 6 7; do
        "$shufflefs" cat -o $order data epochs/$k.tar >want.$k
    done
    "$shufflefs" mount -f -o $order,budget=10M,next-epoch=no,read-timeout=60s data mnt 2>said &
    wait_until 20 mountpoint -q mnt
    "$python" read.py || fail "$order: $(cat mnt/.shufflefs/errors)"
    umount_ds mnt
    wait
    [ "$(grep -c "no room for the lanes of one more reader" said)" = 1 ] ||
        fail "what was said: $(cat said)"
done
