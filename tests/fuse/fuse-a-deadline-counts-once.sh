#!/bin/sh
# SPDX-License-Identifier: MIT
# A reader waits for a silent server no longer than read-timeout, however it reads: through
# the page cache, where the kernel asks again page by page after a failed readahead; mapped,
# where it does so twice; and with O_DIRECT.  Each shard that was waited for has a line in
# .shufflefs/errors that says where the bytes were to come from.  Who reads again later, tries
# anew, and what is here is delivered.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/parked.sh"
requires_fuse

stalling_shards --shards 3
mount_ds -o stall-timeout=10m,read-timeout=15s,lanes=4,buffer=64K "$stalling" mnt
cleanup "end_daemon $(daemon_pid mnt)"

# (Whole shards: so the first bytes of a part are what the reader wants.)
order="lanes=1,buffer=4K,segment=shard"
mount_ds -o $order,stall-timeout=10m,read-timeout=15s \
    "$origin/pause,bytes=200000,over=600,while=stalled/train-{000000..000002}.tar" mnt2
cleanup "end_daemon $(daemon_pid mnt2)"

cat >read.py <<'EOF'
import errno, mmap, os, subprocess, sys, time

def cached(path, offset):
    with open(path, "rb", buffering=0) as file:
        file.seek(offset)
        file.read(100000)

def direct(path, offset):
    fd = os.open(path, os.O_RDONLY | os.O_DIRECT)
    os.preadv(fd, [mmap.mmap(-1, 1 << 16)], offset)

def mapped(path, offset):
    touch = ("import mmap; f = open(%r, 'rb');"
             "mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ)[%d]" % (path, offset))
    status = subprocess.run([sys.executable, "-c", touch]).returncode
    if status == -7:
        raise OSError(errno.EIO, "SIGBUS")
    assert status == 0, "status %d" % status

begun = time.monotonic()
try:
    globals()[sys.argv[1]](sys.argv[2], int(sys.argv[3]))
    print("bytes")
except OSError as error:
    print(errno.errorcode[error.errno], "after %.1f s" % (time.monotonic() - begun))
    took = time.monotonic() - begun
    sys.exit("not in time: %.1f s" % took if not 14.5 < took < 28 else 0)
EOF

# reads HOW PATH OFFSET: in the background, to said.N
n_reads=0
readers=""
reads() {
    n_reads=$((n_reads + 1))
    "$python" read.py "$@" >said.$n_reads 2>&1 &
    readers="$readers $!"
}

reads cached mnt/epochs/0.tar 0
reads cached mnt/epochs/1.tar 0
reads cached mnt/epochs/1.tar 0
reads cached mnt/epochs/2.tar 300000
reads cached mnt/shards/train-000000.tar 8192
reads cached mnt/samples/train-000001.tar/000020.jpg 0
reads mapped mnt/epochs/3.tar 0
reads mapped mnt/shards/train-000002.tar 70000
reads direct mnt/epochs/4.tar 0
dd if=mnt2/epochs/0.tar of=part bs=1M count=1 2>/dev/null &
dd=$!
for p in $readers; do
    wait $p || fail "$(cat said.*)"
done
for i in $(seq $n_reads); do
    grep -q "^EIO" said.$i || fail "read $i: $(cat said.$i)"
done

"$python" - mnt/.shufflefs/errors "$origin" <<'EOF' || fail "errors: $(cat mnt/.shufflefs/errors)"
import json, sys
entries = [json.loads(line) for line in open(sys.argv[1])]
late = [e for e in entries if "timed out after 15 s (read-timeout)" in e["cause"]]
assert len(late) <= 12, "%d lines for 9 reads" % len(late)
assert all("waiting for " in e["cause"] and " from " + sys.argv[2] in e["cause"] for e in late), late
assert {e["shard"] for e in late} == {"train-%06d.tar" % i for i in range(3)}, late
assert any(e["shard"] == "train-000000.tar" and "bytes from" in e["cause"] for e in late), late
assert all("EIO" in e["then"] for e in late), late
EOF

# What had come is delivered.
wait $dd || true
"$shufflefs" cat -o $order shards epochs/0.tar >whole
n=$(wc -c <part)
[ "$n" -gt 50000 ] && [ "$n" -lt 1000000 ] || fail "$n bytes of a read that was answered in part"
cmp -n "$n" part whole

# The server is well again: the next read gets its bytes.
rm shards/stalled
wait_until 60 head -c 4096 mnt/epochs/0.tar
wait_until 60 cat mnt/shards/train-000000.tar
same mnt/shards/train-000000.tar shards/train-000000.tar
umount_ds mnt
umount_ds mnt2
