#!/bin/sh
# SPDX-License-Identifier: MIT
# With random segments, where a rank's samples begin may be guessed wrongly if members hold tars, and
# so may the size of its file.  Who reads such a rank, alone in its mount, gets EIO before its end.
# Opened again, it is what the script computes, and as long as it says; but a file that was open
# before ends in EIO, too, although the kernel has its pages from the other one.  Eight ranks read
# at once are right, or fail; together, and opened again, they have the whole epoch.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
requires_fuse

# A tar that is longer than anybody looks back, amid small members; and some here and there.
"$python" "$top/tests/lib/tars-in-tars.py" long 2 300 8000000 8000000 300 2000
"$python" "$top/tests/lib/tars-in-tars.py" rare 3 60 5000 2000000 20
start_nginx .

cat >read.py <<'EOF'
import errno, os, sys, threading

mnt, want = sys.argv[1:3]
ranks = list(map(int, sys.argv[3].split(",")))
counts = {"readings failed": 0, "of files that had begun": 0}

def read(fd, data=b"", most=None):
    """What follows these bytes; or None, if it fails."""
    try:
        while most is None or len(data) < most:
            piece = os.pread(fd, 1 << 16, len(data))
            if not piece:
                break
            data += piece
        return data
    except OSError as error:
        assert error.errno == errno.EIO, error
        counts["readings failed"] += 1
        return None

def opened(path):
    """It fails while others find out that a guess was wrong."""
    for _ in range(10):
        try:
            return os.open(path, os.O_RDONLY)
        except OSError as error:
            assert error.errno == errno.EIO, error
            counts["readings failed"] += 1
    raise AssertionError("%s cannot be opened again" % path)

def try_rank(rank):
    with open(os.path.join(want, "rank-%d.tar" % rank), "rb") as file:
        right = file.read()
    path = os.path.join(mnt, "epochs/0/rank-%d-of-8.tar" % rank)
    early = opened(path)
    begun = read(early, most=1 << 16)
    for _ in range(5):
        fd = opened(path)
        data = read(fd)
        size = os.fstat(fd).st_size if data is not None else None
        os.close(fd)
        if data is not None:
            break
    assert data == right, "wrong bytes: rank %d" % rank
    assert size == os.stat(path).st_size == len(right), "rank %d: size %d, not %d" % (rank, size, len(right))
    # The kernel has all pages of this file now, but the one that was opened first may be another.
    if begun is not None:
        data = read(early, begun)
        assert data is None or data == right, "wrong bytes, and no error: rank %d, %d bytes" % (rank, len(data))
        counts["of files that had begun"] += data is None
    os.close(early)

def guarded(rank):
    try:
        try_rank(rank)
    except Exception as error:
        problems.append(repr(error))

problems = []
threads = [threading.Thread(target=guarded, args=(rank,)) for rank in ranks]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(mnt, ", ".join("%d %s" % (n, what) for what, n in counts.items()))
for name, what in ("failed", "readings failed"), ("begun", "of files that had begun"):
    with open(name, "a") as file:
        file.write("x" * counts[what])
sys.exit("; ".join(problems) if problems else 0)
EOF

want_rank() { # FOLDER RANK
    "$python" "$top/scripts/order.py" stream $1 0/rank-$2-of-8.tar --seed 1 --segment random >want-$1/rank-$2.tar
}
mkdir want-long want-rare
for rank in 2 5; do
    want_rank long $rank
done
for rank in 0 1 2 3 4 5 6 7; do
    want_rank rare $rank
done

# read_ranks FOLDER SOURCE RANKS
read_ranks() {
    mnt=mnt-$((n_mounts + 1))
    mount_ds -o index-cache=no,segment=random,seed=1 "$2" $mnt
    timeout $patience "$python" read.py $mnt "want-$1" "$3" || fail "$2, ranks $3: $(cat $mnt/.shufflefs/errors)"
    umount_ds $mnt
}

read_ranks long long 2
for try in 1 2 3 4 5 6 7 8 9 10; do
    read_ranks long "$nginx/long/long-{00..01}.tar" 2
    [ ! -s begun ] || break # (mostly: the proof must come later than the first bytes)
done
[ -s failed ] || fail "no reading failed: this proves nothing"
read_ranks long "$nginx/long/long-{00..01}.tar" 5
read_ranks rare "$nginx/rare/rare-{00..02}.tar" 0,1,2,3,4,5,6,7
