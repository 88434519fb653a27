#!/bin/sh
# SPDX-License-Identifier: MIT
# A forwarded stream comes as pieces of the mount's slabs, and gives the batches that its
# file gives: whatever the budget, with samples larger than it, and where slabs cannot be shared.
# A trainer that holds on, or a sidecar that is killed, keeps nobody from reading, and the
# memory comes back.  An error of the stream is the trainer's, and no end.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
requires_fuse
sidecar=$build/shufflefs-sidecar
drain=$build/tests/lib/ring-drain
fields='img:bytes,300000;cls:i4'

# 240 samples of 1 byte to 300 KB, one with 3 MB more, and one of 100 fields of 60 KB, which are more
# than a window and are held until the last of them has come.
"$python" - <<'END'
import io, os, random, tarfile
rng = random.Random(3)
os.mkdir("shards")
for shard in range(8):
    with tarfile.open("shards/%d.tar" % shard, "w", format=tarfile.USTAR_FORMAT) as tar:
        for i in range(30 * shard, 30 * shard + 30):
            n = rng.choice((1, 700, 9000, 110000, 300000))
            more = [("f%d" % k, rng.randbytes(60000)) for k in range(100 if i == 133 else 0)]
            if i == 77:
                more.append(("big", rng.randbytes(3000000)))
            for extension, data in [("img", rng.randbytes(n)), *more, ("cls", b"%d" % i)]:
                member = tarfile.TarInfo("%06d.%s" % (i, extension))
                member.size = len(data)
                tar.addfile(member, io.BytesIO(data))
END
options=lanes=8,buffer=1M
mkdir epochs
"$shufflefs" cat -o $options shards epochs/0.tar >epochs/0.tar
"$drain" ring >want 2>drain-said &
trainer=$!
"$sidecar" send epochs/0.tar local:ring --fields "$fields" --batch 3 --slots 2
wait $trainer || fail "the file: $(cat drain-said)"
[ "$(grep -c row want)" = 240 ] || fail "$(cat want)"

# begin DIR HOLD: forward its epoch 0 to a trainer, which holds its first batch.
begin() {
    rm -f got # of the one before
    "$drain" ring "$2" >got 2>drain-said &
    trainer=$!
    "$shufflefs" forward "$1/epochs/0.tar" "local:$work/ring" --fields "$fields" --batch 3 --slots 2 >said 2>&1 &
    forward=$!
    wait_until 60 grep -q batch got
}
# child DIR: the sidecar
child() { cat "/proc/$(daemon_pid "$1")/task/"*/children; }
maps_slabs() { grep -q "r--s.*/memfd:shufflefs-slabs" "/proc/$(child "$1" | tr -d ' ')/maps"; }
all_is_right() {
    wait $forward || fail "$1: $(cat said)"
    wait $trainer || fail "$1: the trainer: $(cat drain-said)"
    same want got
    rm -f go
}

mount_ds -o $options shards mnt
begin mnt go
maps_slabs mnt || fail "the sidecar has not mapped the slabs"
touch go
all_is_right "default"
used=$(stat_of mnt budget_used_bytes)
[ "$used" -lt 8000000 ] || fail "$used bytes are still in use"

# Killed, while the trainer holds a batch and the window is full.
begin mnt go
kill -9 "$(child mnt | tr -d ' ')"
! wait $forward || fail "the sidecar was killed, and yet 0"
grep -q "signal 9" said || fail "said: $(cat said)"
# (Tables may have grown by some bytes; a slab has 128 KiB.)
comes_back() { [ "$(stat_of mnt budget_used_bytes)" -lt $((used + (128 << 10))) ]; }
wait_until 60 comes_back
touch go
! wait $trainer || fail "the trainer took a death for an end"
rm go
umount_ds mnt

# The least budget has no room to hold pieces, the other for three reads of 1 MiB.
! "$shufflefs" mount -o $options,budget=10M shards mnt 2>said || fail "10M is not too little"
for budget in 11M 40M; do
    mount_ds -o $options,budget=$budget shards mnt
    begin mnt go
    cmp epochs/0.tar mnt/epochs/0.tar || fail "$budget: while a trainer holds on"
    touch go
    all_is_right "$budget"
    umount_ds mnt
done

SHUFFLEFS_SLABS=private mount_ds -o $options shards mnt
begin mnt go
! maps_slabs mnt || fail "private slabs were shared"
touch go
all_is_right "private slabs"
umount_ds mnt

# A shard that ends too early, after the first batch.
mount_ds -o $options,budget=12M shards mnt
begin mnt go
truncate -s 100000 shards/5.tar
touch go
! wait $forward || fail "no error"
grep -q "epochs/0.tar: read error at byte [0-9]*: " said || fail "said: $(cat said)"
! wait $trainer || fail "the trainer took an error for an end"
umount_ds mnt
