#!/bin/sh
# SPDX-License-Identifier: MIT
# Readers of one epoch at full rate, and threads of one reader that take blocks in turn,
# each get the same bytes, and have hardly more of them fetched than one reader alone, however they are
# scheduled, if there is memory for the furthest behind.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
requires_fuse

make_shards data --shards 24 --samples 60 --bytes 100000
mount_ds -o budget=1G,lanes=8,buffer=4M,next-epoch=no data mnt
cat >read.py <<'END'
import hashlib, mmap, os, sys, threading

# read.py FILE READERS THREADS: opens the file for each reader, whose threads read a MiB
# each in turn.  Prints the hash of each reader's bytes.
path, n = sys.argv[1], int(sys.argv[3])
fds = [os.open(path, os.O_RDONLY | os.O_DIRECT) for _ in range(int(sys.argv[2]))]
size = os.fstat(fds[0]).st_size
blocks = [[None] * ((size >> 20) + 1) for _ in fds]

def read(reader, first):
    buf = mmap.mmap(-1, 1 << 20)
    for i in range(first, len(blocks[reader]), n):
        got = os.preadv(fds[reader], [buf], i << 20)
        blocks[reader][i] = hashlib.sha256(memoryview(buf)[:got]).digest()

threads = [threading.Thread(target=read, args=(r, i)) for r in range(len(fds)) for i in range(n)]
for t in threads: t.start()
for t in threads: t.join()
for b in blocks:
    print(hashlib.sha256(b"".join(b)).hexdigest())
END

fetched() {
    awk '/^shufflefs_fetched_bytes_total/ { n += $2 } END { printf "%d\n", n }' mnt/.shufflefs/metrics.prom
}

# are_alike EPOCH READERS THREADS: all have the same bytes, fetched less than $most times.
are_alike() {
    size=$(stat -c %s "mnt/epochs/$1.tar")
    before=$(fetched)
    "$python" read.py "mnt/epochs/$1.tar" "$2" "$3" >hashes || fail "a reader of $1 failed"
    [ "$(cat hashes | wc -l)" = "$2" ] || fail "a reader of $1 failed"
    [ "$(sort -u hashes | wc -l)" = 1 ] || fail "wrong bytes: readers of epoch $1 have different ones"
    n=$(($(fetched) - before))
    echo "$2 readers with $3 threads: fetched $n of $size"
    [ "$n" -lt $((most * size)) ] || fail "$2 readers had $n bytes fetched of $size"
    "$shufflefs" cat -o lanes=8,buffer=4M data "epochs/$1.tar" >plain
    [ "$(sort -u hashes)" = "$("$python" read.py plain 1 1)" ] || fail "wrong bytes: epoch $1 is not what cat says"
    rm -f hashes plain
}

# (What is around the cuts of random segments is read twice: of 138 MB, which are cut at every 138 KB,
# that is much, and most before the samples are known.  One reader says how much.)
most=6
are_alike 0 1 1
most=2
are_alike 1 1 1
are_alike 2 4 1
are_alike 4 1 4
umount_ds mnt
