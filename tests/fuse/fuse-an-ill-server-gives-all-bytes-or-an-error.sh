#!/bin/sh
# SPDX-License-Identifier: MIT
# Whatever a server answers, each read of a mount has the right bytes or an errno, soon, and
# then .shufflefs/errors has a line; when the server is well again, so are the files (but for
# those whose version was said to be another one): tried at random, with 77 illnesses.
# ILL_SEED chooses the first seed, ILL_SECONDS how long.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
requires_fuse

make_shards shards --shards 4 --bytes 20000 --samples 25
"$shufflefs" cat -o lanes=2,buffer=64K shards epochs/0.tar >want.tar
start_origin shards "" ill-origin.py
seed=${ILL_SEED:-$test_seed}
echo "ILL_SEED=$seed"

cat >read.py <<'EOF2'
import errno, os, random, sys, time

r, must_be_well = random.Random(sys.argv[1]), sys.argv[2] == "well"
PASSING = {errno.EIO, errno.EACCES, errno.ENOENT}
want = {"mnt/epochs/0.tar": open("want.tar", "rb").read()}
for i in range(4):
    name = "train-%06d.tar" % i
    want["mnt/shards/" + name] = open("shards/" + name, "rb").read()
failed = 0


def tried(call, *args):
    """The result, or None: an errno that may be, and is told."""
    global failed
    begun = time.time()
    try:
        return call(*args)
    except OSError as error:
        lines = open("mnt/.shufflefs/errors").read()
        # (Of an ESTALE of its read-ahead the kernel may make an EIO.)
        is_stale = error.errno == errno.ESTALE or error.errno == errno.EIO and '"event":"changed"' in lines
        if not is_stale and (must_be_well or error.errno not in PASSING):
            sys.exit("%s: %s" % (args, error))
        if not lines:
            sys.exit("%s: %s, without a line" % (args, error))
        failed += 1
    finally:
        if time.time() - begun > 20:
            sys.exit("%s: %d s" % (args, time.time() - begun))


def is_believed(fd, path):
    """Are the sizes that the server claimed true?  The order of an epoch depends on them;
    where they are not, all that must be is that it ends with an error."""
    return os.fstat(fd).st_size == len(want[path])


def read(path):
    fd = tried(os.open, path, os.O_RDONLY | r.choice((0, os.O_DIRECT)))
    if fd is None:
        return
    for _ in range(10):
        n = r.choice((4096, 65536, 1 << 20))
        at = r.randrange(len(want[path]) // 4096) * 4096
        got = tried(os.pread, fd, n, at)
        if got is None or not is_believed(fd, path):
            continue
        if got != want[path][at:at + len(got)]:
            sys.exit("wrong bytes of %s at %d" % (path, at))
        if not got:
            sys.exit("wrong bytes: %s ends at %d" % (path, at))
    os.close(fd)


def read_all(path):
    with open(path, "rb") as file:
        return file.read()


for path in r.sample(sorted(want), len(want)):
    read(path)
    if must_be_well:
        got = tried(read_all, path)
        if got is not None and got != want[path]:
            sys.exit("%s: wrong bytes" % path)
print("%d errors" % failed)
EOF2

until=$(($(date +%s) + ${ILL_SECONDS:-25}))
n=0 refused=0
while [ "$(date +%s)" -lt $until ] || [ $n = 0 ]; do
    n=$((n + 1))
    share=$(echo 3 10 30 80 | cut -d " " -f $((n % 4 + 1)))
    touch shards/ill
    if ! mount_ds -o lanes=2,buffer=64K,stall-timeout=300ms,connect-timeout=2s,read-timeout=2s \
        "$origin/ill,seed=$seed-$n,share=$share,while=ill/train-{000000..000003}.tar" mnt 2>said; then
        [ -s said ] || fail "refused without a word, seed $seed-$n"
        refused=$((refused + 1))
        continue
    fi
    "$python" read.py "$seed-$n" ill || fail "seed $seed-$n"
    rm shards/ill
    sleep 3 # so long a failure is remembered, and the server left alone
    "$python" read.py "$seed-$n" well || fail "seed $seed-$n, though the server is well again"
    umount_ds mnt
done
echo "$n mounts, $refused of them refused"
