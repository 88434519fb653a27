#!/bin/sh
# SPDX-License-Identifier: MIT
# With indexes a random read needs no headers: little more than its own bytes, from
# the first one on, and the bytes are right.  A lying index is noticed where a sample begins.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/indexed.sh"
requires_fuse

make_shards shards --shards 24 --samples 60 --bytes 100000
"$shufflefs" cat $opts shards epochs/0.tar >want.tar
[ "$(n_indexes home/.cache)" = 24 ] || fail "not 24 indexes"
mount_ds $opts,readahead=0 shards mnt
"$python" - <<'EOP'
import mmap, os, random
rng = random.Random(7)
fd, want = os.open("mnt/epochs/0.tar", os.O_RDONLY | os.O_DIRECT), open("want.tar", "rb").read()
buf = mmap.mmap(-1, 4096)
start = 80 << 20  # (near the start an epoch is streamed rather than looked up)
for _ in range(200):
    at = rng.randrange(start // 4096, len(want) // 4096) * 4096
    n = os.preadv(fd, [buf], at)
    assert n == 4096 and buf[:] == want[at:at + n], at
EOP
fetched=$(stat_of mnt fetched_bytes)
[ "$fetched" -le $((200 * 4096 * 3)) ] || fail "$fetched bytes fetched for 200 reads of 4096"
umount_ds mnt

find home/.cache -name '*.index' -exec "$python" "$top/tests/lib/forge-index.py" {} shift \;
mount_ds $opts,readahead=0 shards mnt
"$python" - <<'EOP'
import mmap, os
fd, want = os.open("mnt/epochs/0.tar", os.O_RDONLY | os.O_DIRECT), open("want.tar", "rb").read()
buf = mmap.mmap(-1, 64 << 10)
middle = 80 << 20
try: # often a sample begins in 64 KiB
    for at in range(middle, middle + (16 << 20), 5 * len(buf)):
        os.preadv(fd, [buf], at)
except OSError:
    os._exit(0)
raise SystemExit("a lie is believed")
EOP
errors_have mnt '"cause":"no sample where its index says: .*"then":"readers get EIO; remove the index: '
umount_ds mnt
