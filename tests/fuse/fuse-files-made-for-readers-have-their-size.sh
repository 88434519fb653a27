#!/bin/sh
# SPDX-License-Identifier: MIT
# Files that a mount makes (README, .shufflefs/, .idx, .order) show their size, so what copies,
# packs, serves or maps them gets all bytes.  Those that change show the size and the time of
# what the next reader gets; who has one open sees the size of what he reads.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
requires_fuse

make_shards data --shards 3 --samples 200 --bytes 700 --name "s-%d.tar"
mount_ds -o lanes=12 data mnt
fixed="README epochs/0.order epochs/0.idx epochs/1/rank-1-of-3.order epochs/1/rank-1-of-3.idx
    epochs/2/rank-0-of-1/worker-1-of-2@7.order epochs/0@601.order shards/s-1.idx"
live=".shufflefs/config .shufflefs/stats.json .shufflefs/metrics.prom .shufflefs/errors"

# Something to be said in `errors`.
[ ! -e mnt/epochs/0/rank-3-of-2.tar ] || fail "rank 3 of 2"

# The size is known before anybody has opened the file.
for f in $fixed; do
    size=$(stat -c %s "mnt/$f")
    cat "mnt/$f" >got
    [ "$(wc -c <got)" = "$size" ] || fail "$f has $(wc -c <got) bytes and shows $size"
    [ "$size" -gt 0 ] || [ $f = epochs/0@601.order ] || fail "$f is empty"
done
[ "$(stat -c %b mnt/epochs/0.order)" -gt 0 ] || fail "du says 0"

# What asks for the size of an open file, and gives no more bytes than that.
cat >sizes.py <<'EOT'
import mmap, os, shutil, sys

fixed, live = sys.argv[1].split(), sys.argv[2].split()


def read_all(fd, direct=False):
    got, at = b"", 0
    while True:
        piece = os.pread(fd, 1 << 16, at)
        got += piece
        at += len(piece)
        if not piece:
            return got


for f in fixed + live:
    path = "mnt/" + f
    for flags in 0, os.O_DIRECT:
        fd = os.open(path, os.O_RDONLY | flags)
        size, got = os.fstat(fd).st_size, read_all(fd)
        assert size == len(got) == os.fstat(fd).st_size, (f, flags, size, len(got))
        os.close(fd)
    # By the page cache, also where reads go around it.
    with open(path, "rb") as source, open("copy", "wb") as to:
        size, at = os.fstat(source.fileno()).st_size, 0
        while at < size:
            n = os.sendfile(to.fileno(), source.fileno(), at, size - at)
            assert n > 0, (f, "sendfile", at, size)
            at += n
        want = read_all(source.fileno())
        to.flush()
        assert open("copy", "rb").read() == want, (f, "sendfile")
        if size:
            m = mmap.mmap(source.fileno(), 0, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ)
            assert m[:] == want, (f, "mmap")
            m.close()
    shutil.copyfile(path, "copy")
    n = os.path.getsize("copy")
    assert n == 0 if f == "epochs/0@601.order" else n > 0, (f, "shutil.copyfile", n)
for f in fixed:
    with open("mnt/" + f, "rb") as file:
        if os.fstat(file.fileno()).st_size:
            mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ).close()  # shared
EOT
"$python" sizes.py "$fixed" "$live" || fail "wrong bytes"

# GNU tar says nothing of files that changed as it read them.
tar cf all.tar -C mnt $fixed $live 2>said || fail "tar: $(cat said)"
[ ! -s said ] || fail "tar: $(cat said)"
mkdir out
tar xf all.tar -C out
for f in $fixed .shufflefs/config; do
    same "mnt/$f" "out/$f"
done
"$python" -c 'import json; json.load(open("out/.shufflefs/stats.json")); [json.loads(l) for l in open("out/.shufflefs/errors")]'
grep -q rank-3-of-2 out/.shufflefs/errors || fail "errors: $(cat out/.shufflefs/errors)"

# cp with and without a reflink, and what compares times: a copy of a file that has changed is
# not up to date; one of a file that has not, is.
mkdir copies
cp -a mnt/.shufflefs mnt/README copies/
cmp mnt/README copies/README || fail "wrong bytes: cp"
[ "$(stat -c %y mnt/.shufflefs/config)" = "$(stat -c %y copies/.shufflefs/config)" ] || fail "an old file has a new time"
was=$(stat -c %y mnt/.shufflefs/errors)
[ "$was" = "$(stat -c %y copies/.shufflefs/errors)" ] || fail "errors that nobody added to have a new time"
[ ! -e mnt/epochs/0/rank-5-of-2.tar ] || fail "rank 5 of 2"
[ "$was" != "$(stat -c %y mnt/.shufflefs/errors)" ] || fail "errors have changed, and not their time"
if command -v rsync >/dev/null; then
    rsync -aR $(printf ' mnt/./%s' $fixed $live) synced/ || fail "rsync"
    for f in $fixed .shufflefs/config; do
        same "mnt/$f" "synced/$f"
    done
    "$python" -c 'import json; json.load(open("synced/.shufflefs/stats.json"))'
    [ ! -e mnt/epochs/0/rank-7-of-2.tar ] || fail "rank 7 of 2"
    rsync -aR mnt/./.shufflefs/errors synced/ || fail "rsync"
    grep -q rank-7-of-2 synced/.shufflefs/errors || fail "rsync left an old copy"
fi

# A web server that goes by the size.
"$python" - <<'EOT'
import functools, http.server, threading, urllib.request

class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass

server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory="mnt"))
threading.Thread(target=server.serve_forever, daemon=True).start()
for f in "README", "epochs/0.order", "shards/s-1.idx", ".shufflefs/metrics.prom", ".shufflefs/errors":
    with urllib.request.urlopen("http://127.0.0.1:%d/%s" % (server.server_port, f)) as r:
        got = r.read()
    want = open("mnt/" + f, "rb").read()
    assert len(got) > 0 and (f.endswith(".prom") or got == want), (f, len(got), len(want))
EOT

# Who has a file open sees its size, whoever opens it meanwhile; and each open is fresh.
"$python" - <<'EOT'
import json, os, threading

def errors():
    return open("mnt/.shufflefs/errors", "rb").read()

def event(i):
    assert not os.path.exists("mnt/epochs/%d/rank-9-of-2.tar" % i)

for i in range(50):
    event(1000 + i)
    assert b"epochs/%d/" % (1000 + i) in errors(), i  # not an old one

wrong, stop = [], threading.Event()

def look(path):
    while not stop.is_set():
        with open(path, "rb", buffering=0) as f:
            size = os.fstat(f.fileno()).st_size
            got = f.readall()
            if size > len(got) or not got.endswith(b"\n"):
                wrong.append((path, size, len(got)))

threads = [threading.Thread(target=look, args=("mnt/.shufflefs/" + f,))
           for f in ("errors", "stats.json", "metrics.prom") for i in range(2)]
for t in threads:
    t.start()
for i in range(300):
    event(2000 + i)
stop.set()
for t in threads:
    t.join()
assert not wrong, wrong[:5]
EOT
umount_ds mnt
