#!/bin/sh
# SPDX-License-Identifier: MIT
# A read away from every reader's position costs a scan of the shards once, and from
# then on little more than its own bytes.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
requires_fuse

make_shards data --shards 40 --samples 100 --bytes 60000
total=$(cat data/*.tar | wc -c)
mount_ds -o lanes=8,readahead=0 data mnt
"$python" "$top/tests/lib/check-reads.py" mnt/epochs/0.tar mnt/epochs/0.tar --how direct --reads 1 --seed x
# (Shards are scanned a little ahead of what a read needs.  One near the end needs all.)
near_end=$(($(stat -c %s mnt/epochs/0.tar) / 4096 - 30))
dd if=mnt/epochs/0.tar of=have bs=4096 skip=$near_end count=1 iflag=direct status=none

fetched_before=$(stat_of mnt fetched_bytes)
[ "$fetched_before" -le $((total * 2)) ] || fail "$fetched_before bytes for the first random reads"

# 200 reads of 4 KiB, all over the epoch.
"$python" - <<'EOF'
import mmap, os, random
rng = random.Random(7)
fd = os.open("mnt/epochs/0.tar", os.O_RDONLY | os.O_DIRECT)
size = os.fstat(fd).st_size
buf = mmap.mmap(-1, 4096)
for _ in range(200):
    os.preadv(fd, [buf], rng.randrange(size // 4096) * 4096)
EOF
fetched=$(($(stat_of mnt fetched_bytes) - fetched_before))
[ $fetched -le $((200 * 4096 * 4)) ] || fail "$fetched bytes fetched for 200 reads of 4096"
umount_ds mnt
