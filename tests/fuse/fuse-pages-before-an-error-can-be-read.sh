#!/bin/sh
# SPDX-License-Identifier: MIT
# A range that meets damage is an error, but what comes before it in the range can be read,
# through the page cache or not; and the error stays.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"
requires_fuse

# What is damaged is the last sample of a shard, so nothing else is lost; of those, the one that comes
# last in the epoch.
small_shards
"$shufflefs" cat $quick shards epochs/0.order |
    awk -F '\t' '$5 ~ /^0000(39|79)$|^000119$/ { shard = $4; key = $5 } END { print shard, key }' >last
read -r one key <last
victim=shards/$one
flip "$(byte_of $key.jpg)"

# The first byte that cannot be read, in steps of 512.
first_bad() {
    "$python" - "$1" want.tar <<'EOF'
import errno, mmap, os, sys
fd = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT)
want = open(sys.argv[2], "rb").read()
buf = mmap.mmap(-1, 512)
for at in range(0, len(want), 512):
    try:
        n = os.preadv(fd, [buf], at)
    except OSError as error:
        if error.errno != errno.EIO:
            raise
        print(at)
        sys.exit()
    if buf[:n] != want[at:at + 512]:
        sys.exit("wrong bytes at %d" % at)
sys.exit("no error at all")
EOF
}

mount_ds $quick shards mnt
bad=$(first_bad mnt/epochs/0.tar)
[ "$bad" -ge 100000 ] || fail "too early an error, at $bad"
umount_ds mnt

# A new mount, whose cache knows nothing; the same place.
mount_ds $quick shards mnt
size=$(stat -c %s mnt/epochs/0.tar)
for bs in 4096 65536 1048576; do
    ! dd if=mnt/epochs/0.tar of=got.tar bs=$bs status=none 2>err || fail "no error by $bs"
    grep -q "Input/output error" err || fail "$(cat err)"
    cmp -n "$(wc -c <got.tar)" want.tar got.tar
    [ $bs != 4096 ] || [ "$(wc -c <got.tar)" = $((bad / 4096 * 4096)) ] ||
        fail "$(wc -c <got.tar) bytes, not all whole pages before $bad"
done
[ "$(first_bad mnt/epochs/0.tar)" = "$bad" ] || fail "the error has moved"

# It stays, for the last byte as well, and is reported once.
for i in 1 2 3; do
    ! dd if=mnt/epochs/0.tar of=got.tar bs=512 skip=$((bad / 512)) count=1 status=none 2>err ||
        fail "the error has gone"
    ! tail -c 1 mnt/epochs/0.tar >got.tar 2>err || fail "an end behind an error"
done
[ "$(stat -c %s mnt/epochs/0.tar)" = "$size" ] || fail "another size"
[ "$(grep -c '"event":"lost"' mnt/.shufflefs/errors)" = 1 ] || fail "not reported once"
# The shard itself can be read: its bytes are what they are.
same "$victim" "mnt/shards/$one"
umount_ds mnt
