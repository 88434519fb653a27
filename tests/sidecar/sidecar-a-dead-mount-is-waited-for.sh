#!/bin/sh
# SPDX-License-Identifier: MIT
# A mount that forwards and is killed cuts its sidecar's stream, which fails nothing: the receiver
# waits, and when the mount is there again and forwards again, each sample has come once.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
requires_fuse
sidecar=$build/shufflefs-sidecar

"$python" - <<'END'
import io, os, tarfile
os.mkdir("shards")
with tarfile.open("shards/0.tar", "w", format=tarfile.USTAR_FORMAT) as tar:
    for i in range(1500): # (more than a sidecar has in memory)
        for extension, data in ("img", bytes([i % 256]) * 12288), ("cls", b"%d" % i):
            member = tarfile.TarInfo("%06d.%s" % (i, extension))
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
END

forward() {
    "$shufflefs" forward --fields='img:raw,u1,3x64x64;cls' --batch=6 mnt/epochs/0.tar "$url" 2>>said &
    forward=$!
}

mount_ds shards mnt
"$sidecar" recv tcp://127.0.0.1:0 --ring ring --give-up 50 2>log &
receiver=$!
until url=$(sed -n "s/.*senders on //p" log 2>/dev/null) && [ "$url" ]; do
    kill -0 $receiver 2>/dev/null || fail "recv: $(cat log)"
    sleep 0.01
done
forward
"$build/tests/lib/ring-drain" --again 5000 ring >got 2>error &
drain=$!
wait_until 60 grep -q batch got
kill -9 "$(daemon_pid mnt)"
! wait $forward || fail "forward ended well"
wait_until 60 grep -q 'the sender has left: ' log
wait_until 60 mount_ds shards mnt
forward
wait $forward || fail "forward again: $(cat said)"
wait $drain || fail "the trainer: $(cat error log)"
wait $receiver || fail "recv: $(cat log)"
seq 0 1499 >wanted
sed -n "s/^row .* //p" got | sort -n | cmp - wanted || fail "other samples: $(cat log)"
umount_ds mnt
