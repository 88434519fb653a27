#!/bin/sh
# SPDX-License-Identifier: MIT
# What becomes of the samples that a trainer held when it was killed is what --on-consumer-death
# says.  A trainer that holds on stops the mount at its window, and no other reader; its death
# gives the memory back.  The death of the mount, or an error of the stream, is an error at the
# trainer behind the samples before it, and no end.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
requires_fuse
trainer=$top/tests/lib/samples-trainer.py

# 2000 samples of 50 KB: 100 MB, more than any window.
"$python" - <<'END'
import io, os, random, tarfile
block = random.Random(3).randbytes(52000)
os.mkdir("shards")
for shard in range(10):
    with tarfile.open("shards/%d.tar" % shard, "w", format=tarfile.USTAR_FORMAT) as tar:
        for i in range(200 * shard, 200 * shard + 200):
            member = tarfile.TarInfo("%06d.img" % i)
            member.size = 50000
            tar.addfile(member, io.BytesIO(block[i:i + 50000]))
END
options=lanes=10
"$shufflefs" cat -o $options shards epochs/0.tar >0.tar
"$python" "$trainer" --tar 0.tar | sort >want
[ "$(wc -l <want)" = 2000 ] || fail "want: $(wc -l <want)"

# begin [OPTION...]: forward epoch 0 to samples:s
begin() {
    "$shufflefs" forward "$@" mnt/epochs/0.tar "samples:$work/s" >said 2>&1 &
    forward=$!
}
# train N [WORD...]: trainer N, in the background
train() {
    n=$1
    shift
    rm -f got.$n # of the one before
    "$python" "$trainer" s "$@" >got.$n 2>&1 &
    eval "trainer_$n=$!"
}
has_the_rest() { [ "$(grep -c = got.2)" -ge 1998 ]; } # (the first has asked for one ahead)
kill_first() {
    kill -9 "$trainer_1"
    wait "$trainer_1" 2>/dev/null || :
}

for budget in 12M 100M; do
    mount_ds -o $options,budget=$budget shards mnt

    # redeliver: the others get it all, also if they have all the rest by then.
    begin --on-consumer-death redeliver
    train 1 hold=1 ahead=1
    wait_until 60 grep -q holds got.1
    train 2
    wait_until 60 has_the_rest
    kill_first
    wait "$trainer_2" || fail "redeliver: $(tail -n 3 got.2)"
    wait $forward || fail "redeliver: $(cat said)"
    [ "$(tail -n 1 got.2)" = end ] || fail "redeliver: $(tail -n 1 got.2)"
    grep = got.2 | sort >got
    same want got

    # drop: what it held is missing, and nothing else.
    begin --on-consumer-death drop
    train 1 hold=1 ahead=1
    wait_until 60 grep -q holds got.1
    train 2
    wait_until 60 grep -q = got.2
    kill_first
    wait "$trainer_2" || fail "drop: $(tail -n 3 got.2)"
    wait $forward || fail "drop: $(cat said)"
    [ "$(tail -n 1 got.2)" = end ] || fail "drop: $(tail -n 1 got.2)"
    grep = got.2 | sort >got
    n=$(comm -23 want got | wc -l)
    { [ "$n" = 1 ] || [ "$n" = 2 ]; } || fail "drop: $n samples are missing" # (one was asked for ahead)
    [ -z "$(comm -13 want got)" ] || fail "drop: some came twice"
    umount_ds mnt
done

# What one keeps stays as it is, in the mount's memory, while another one takes all the rest.
mount_ds -o $options,budget=100M shards mnt
begin
train 1 hold=1 ahead=1
wait_until 60 grep -q holds got.1
grep -q "holds the mount's" got.1 || fail "it was copied"
grep -q "r--s.*/memfd:shufflefs-slabs" "/proc/$trainer_1/maps" || fail "the slabs are not mapped"
train 2
wait_until 60 has_the_rest
touch go
wait "$trainer_1" || fail "it has not stayed: $(tail -n 3 got.1)"
wait "$trainer_2" || fail "beside one that keeps: $(tail -n 3 got.2)"
wait $forward || fail "beside one that keeps: $(cat said)"
cat got.1 got.2 | grep = | sort >got
same want got
rm go

# fail: all get an error, and so does forward.
begin
train 1 hold=1
wait_until 60 grep -q holds got.1
train 2 hold=1
wait_until 60 grep -q holds got.2
kill_first
touch go
wait "$trainer_2" || fail "fail: $(tail -n 3 got.2)"
tail -n 1 got.2 | grep -q "^error EIO: .*trainer [0-9]* (pid $trainer_1) died while it held [0-9]* samples" || fail "$(tail -n 1 got.2)"
! wait $forward || fail "a trainer died, and yet 0"
rm go

# A trainer that holds on: the window is full, and the mount serves others.  Then it dies.
stat_of mnt budget_used_bytes >before
begin --on-consumer-death drop
train 1 hold=1 ahead=1000
wait_until 60 grep -q holds got.1
holds_some() { [ "$(stat_of mnt budget_used_bytes)" -gt $(($(cat before) + 1000000)) ]; }
wait_until 60 holds_some
cmp 0.tar mnt/epochs/0.tar || fail "while a trainer holds on"
used=$(stat_of mnt budget_used_bytes)
[ "$used" -lt 100000000 ] || fail "$used bytes are in use"
held=$(stat_of mnt budget_used_bytes)
kill_first
train 2
wait "$trainer_2"
wait $forward || fail "hold: $(cat said)"
falls() { [ "$(stat_of mnt budget_used_bytes)" -lt "$held" ] && [ "$(stat_of mnt budget_used_bytes)" -lt 30000000 ]; }
wait_until 60 falls

# An error of the stream, behind the samples before it.
umount_ds mnt
mount_ds -o $options,budget=12M shards mnt
begin
train 1 hold=1
wait_until 60 grep -q holds got.1
cp shards/5.tar saved
truncate -s 3000000 shards/5.tar
touch go
wait "$trainer_1" || fail "damage: $(tail -n 3 got.1)"
tail -n 1 got.1 | grep -q "^error EIO: .*epochs/0.tar: the stream ended after sample [0-9]* without its end mark" ||
    fail "damage: $(tail -n 1 got.1)"
! wait $forward || fail "damage, and yet 0"
last=$(tail -n 1 got.1 | sed 's/.*after sample \([0-9]*\).*/\1/')
[ "$(grep -c = got.1)" = $((last + 1)) ] || fail "$(grep -c = got.1) samples came before: $(tail -n 1 got.1)"
umount_ds mnt
mv saved shards/5.tar
rm go

# The mount is killed.
mount_ds -o $options,budget=100M shards mnt
begin
train 1 hold=1
wait_until 60 grep -q holds got.1
kill -9 "$(daemon_pid mnt)"
touch go
wait "$trainer_1" || fail "a dead mount: $(tail -n 3 got.1)"
tail -n 1 got.1 | grep -q "^error EIO: .*the stream ended after sample" || fail "a dead mount: $(tail -n 1 got.1)"
[ "$(grep -c = got.1)" -lt 2000 ] || fail "it had all before the mount was killed"
! wait $forward || fail "a dead mount, and yet 0"
rm go

# Copies stop at memory=, also for a trainer that asks for all, and go on when it releases.
"$build/shufflefs-sidecar" send 0.tar "samples:s?memory=16" 2>said &
sender=$!
"$python" - "$top/python/shufflefs" <<'END' || fail "memory: see above"
import sys
sys.path.insert(0, sys.argv[1])
import samples
samples.AHEAD_BYTES = 1 << 40
kept, n, n_bytes = [], 0, 0
with samples.Samples("s", timeout=60, ahead=1 << 40) as given:
    while n_bytes < 12 << 20:
        kept.append(given.next(60))
        n_bytes += kept[-1].n_bytes
    try:
        while True:
            kept.append(given.next(0.3))
            n_bytes += kept[-1].n_bytes
            assert n_bytes < 21 << 20, n_bytes  # (16 MiB, a chunk of 2 MiB, and what was begun)
    except TimeoutError:
        pass
    for sample in kept:
        sample.release()
    n = len(kept) + sum(1 for _ in given)
assert n == 2000, n
END
wait $sender || fail "memory: $(cat said)"

# The sidecar is killed.
"$build/shufflefs-sidecar" send 0.tar samples:s 2>said &
sender=$!
train 1 hold=1
wait_until 60 grep -q holds got.1
kill -9 $sender
touch go
wait "$trainer_1" || fail "a dead sidecar: $(tail -n 3 got.1)"
tail -n 1 got.1 | grep -q "^error EPIPE: .*the sidecar died" || fail "a dead sidecar: $(tail -n 1 got.1)"
