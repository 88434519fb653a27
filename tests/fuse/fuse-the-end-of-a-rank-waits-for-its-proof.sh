#!/bin/sh
# SPDX-License-Identifier: MIT
# With random segments a rank is opened without the headers of all shards, and its end waits until
# they have shown that each of its samples is one.  While the server fails these requests alone,
# a reader gets all but the end of the stream, and there EIO after read-timeout, with a line that
# names what was waited for; who reads on when the server is well has the rest.  If a shard has
# been replaced meanwhile, the end is ESTALE.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
requires_fuse

make_shards shards --shards 3 --samples 40 --bytes 60000
start_origin shards
three="train-{000000..000002}.tar"
order="segment=random,seed=1,lanes=12,buffer=1M"
"$python" "$top/scripts/order.py" stream shards 3/rank-1-of-4.tar --seed 1 --lanes 12 --buffer 1M --segment random >want.tar

cat >read.py <<'EOF'
import errno, os, sys, time

path, flag, want, expected = sys.argv[1], sys.argv[2], open(sys.argv[3], "rb").read(), sys.argv[4]
fd = os.open(path, os.O_RDONLY)
assert os.fstat(fd).st_size == len(want), "size %d, not %d" % (os.fstat(fd).st_size, len(want))
open(flag, "w").close()

def read_on(at):
    while True:
        piece = os.pread(fd, 1 << 16, at)
        assert piece == want[at:at + len(piece)], "wrong bytes at %d" % at
        if not piece:
            return at
        at += len(piece)

at = 0
try:
    while True:
        piece = os.pread(fd, 1 << 16, at)
        assert piece == want[at:at + len(piece)], "wrong bytes at %d" % at
        assert piece, "the end, without a proof"
        at += len(piece)
except OSError as error:
    print(error, "at byte", at, "of", len(want))
    assert errno.errorcode[error.errno] == expected, error
assert at < len(want.rstrip(b"\0")) + 1024, "the end of the tar, without a proof"
os.unlink(flag)
for tries in range(600 if expected == "EIO" else 0): # what failed is tried again after two seconds
    try:
        assert read_on(at) == len(want), "a short stream"
        break
    except OSError as error:
        assert tries < 599, error
        time.sleep(0.1)
EOF

# FAULT, what the line says
while read -r fault says; do
    mnt=mnt-$fault
    mount_ds -o $order,index-cache=no,read-timeout=10s "$origin/$fault,under=17000,while=broken/$three" $mnt
    timeout $patience "$python" read.py $mnt/epochs/3/rank-1-of-4.tar shards/broken want.tar EIO || fail "$(cat $mnt/.shufflefs/errors)"
    errors_have $mnt "train-00000[0-2].tar.*$says"
    timeout $patience cat $mnt/epochs/3/rank-1-of-4.tar >got.tar || fail "$(cat $mnt/.shufflefs/errors)"
    same want.tar got.tar
done <<EOD
503   HTTP 503
held  the headers that prove where samples begin
EOD

mount_ds -o $order,index-cache=no "$origin/etag,under=17000,while=replaced/$three" mnt2
timeout $patience "$python" read.py mnt2/epochs/3/rank-1-of-4.tar shards/replaced want.tar ESTALE || fail "$(cat mnt2/.shufflefs/errors)"
