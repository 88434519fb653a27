#!/bin/sh
# SPDX-License-Identifier: MIT
# A reader that leaps ahead, by more than may be held for it, is answered soon, though
# another reader of the epoch has its share of the budget.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
requires_fuse

make_shards data --shards 24 --samples 25 --bytes 100000
mount_ds -o budget=48M,lanes=8,buffer=8M,read-timeout=20s data mnt
"$python" - <<'END' || fail "it was not answered"
import mmap, os
fd = os.open("mnt/epochs/3.tar", os.O_RDONLY | os.O_DIRECT)
buf = mmap.mmap(-1, 1 << 20)
for offset in range(0, os.fstat(fd).st_size, 1 << 20):
    os.preadv(fd, [buf], offset)
# One has read all.  A second begins, and leaps.
for offset in (0, 33 << 20, 2 << 20, 50 << 20):
    os.preadv(fd, [buf], offset)
END
umount_ds mnt
