#!/bin/sh
# SPDX-License-Identifier: MIT
# A sidecar whose trainer is slow holds as much of a forwarded stream as it may, from the beginning
# of the epoch or from any sample on: the mount goes on, its memory comes back, and each sample comes once.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
requires_fuse

# (Of what is held only a few bytes are decoded.)
"$python" - <<'END'
import io, os, tarfile
os.mkdir("shards")
for shard in range(2):
    with tarfile.open("shards/%d.tar" % shard, "w", format=tarfile.USTAR_FORMAT) as tar:
        for i in range(shard * 400, shard * 400 + 400):
            for extension, data in ("raw", bytes([i % 256]) * 150528), ("cls", b"%d" % i):
                member = tarfile.TarInfo("%06d.%s" % (i, extension))
                member.size = len(data)
                tar.addfile(member, io.BytesIO(data))
END
mount_ds -o next-epoch=no shards mnt
daemon=$(daemon_pid mnt)
for first in 0 100; do
    "$shufflefs" forward --fields=cls --batch=100 --first=$first mnt/epochs/0.tar "local:$work/ring" 2>said &
    forward=$!
    "$build/tests/lib/ring-drain" --again 100000 ring >got 2>error &
    drain=$!
    wait $drain || fail "the trainer: $(cat error said)"
    wait $forward || fail "forward: $(cat said)"
    [ "$(grep -c "^row" got)" = $((800 - first)) ] || fail "$(grep -c "^row" got) samples from sample $first on"
    [ "$(sort -u got | grep -c "^row")" = $((800 - first)) ] || fail "a sample came twice"
    [ "$(daemon_pid mnt)" = "$daemon" ] || fail "another daemon"
done
umount_ds mnt
