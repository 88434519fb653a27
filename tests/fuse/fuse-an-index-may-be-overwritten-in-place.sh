#!/bin/sh
# SPDX-License-Identifier: MIT
# An index may be changed in place while it is in use: cut off, written over, made anew by
# cp or rsync --inplace.  The mount lives, and its bytes are the right ones.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/indexed.sh"
requires_fuse

# Indexes of more than 64 KiB, beside the shards and in a cache.
make_dense 4 8000
order=lanes=2,buffer=64K,segment=64K,next-epoch=no
"$shufflefs" cat -o $order,index-cache=no dense epochs/0.tar >want.tar
"$shufflefs" index -o $order,index-cache=cache dense >said 2>&1 || fail "$(cat said)"
"$shufflefs" index -o $order,index-cache=no --to=dense dense >said 2>&1 || fail "$(cat said)"
mkdir sound
cp dense/*.index sound
cp -r cache sound-cache

# A mount that knows all samples by its indexes, and then what becomes of these.
for where in dense cache; do
    rm -rf cache dense/*.index
    [ $where = cache ] || cp sound/* dense
    [ $where = dense ] || cp -r sound-cache cache
    mount_ds -o $order,index-cache=cache dense mnt
    pid=$(daemon_pid mnt)
    cmp -n 100000 mnt/epochs/0.tar want.tar || fail "wrong bytes before"
    for change in cut junk longer; do
        find . -path "./sound*" -prune -o -name "*.index" -print | while read -r f; do
            case $change in
            cut) : >"$f" ;;
            junk) junk 200000 >"$f" ;;
            longer) cat sound/0.tar.index sound/1.tar.index >"$f" ;;
            esac
        done
        "$python" "$top/tests/lib/check-reads.py" mnt/epochs/0.tar want.tar --how direct --reads 50 ||
            fail "wrong bytes after $change"
        # Another epoch is dealt from what is known of the samples.
        timeout $patience head -c 1000000 "mnt/epochs/1.tar" >/dev/null || fail "no next epoch after $change"
        head -c 100000 mnt/epochs/0.order >got.order || fail "no order after $change"
        kill -0 "$pid" || fail "the daemon has died"
    done
    umount_ds mnt
done
cp sound/* dense

# Changed at random meanwhile: who looks for indexes finds a sound one or none.
"$python" - sound dense <<'EOF' &
import os, random, sys
rng, names = random.Random(5), ["%d.tar.index" % i for i in range(4)]
while True:
    name = rng.choice(names)
    sound = open(os.path.join(sys.argv[1], name), "rb").read()
    path = os.path.join(sys.argv[2], name)
    how = rng.randrange(4)
    if how == 0:
        open(path, "wb").write(sound)
    elif how == 1:
        os.truncate(path, rng.randrange(len(sound)))
    else:
        with open(path, "r+b") as file:
            file.seek(rng.randrange(len(sound)))
            file.write(rng.randbytes(1000) if how == 2 else sound[:1000])
EOF
meddler=$!
for i in 1 2 3 4 5 6; do
    timeout $patience "$shufflefs" cat -o $order,index-cache=no dense epochs/0.tar >got.tar 2>said ||
        fail "status $?: $(cat said)"
    same want.tar got.tar
done
kill $meddler
