#!/bin/sh
# SPDX-License-Identifier: MIT
# samples:PATH gives trainers every sample once, with the bytes that tarfile reads: of a file, and
# of a mount, in whose memory they stay; to one trainer, or to two that share them.  Options for
# batches are refused, and so are trainers that say nonsense, who harm nobody.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
sidecar=$build/shufflefs-sidecar
trainer=$top/tests/lib/samples-trainer.py

# 300 samples: fields of 0 to 1.3 MB, a sparse one, folders, upper case, and one with 100 fields.
"$python" - <<'END'
import io, os, random, tarfile
rng = random.Random(3)
os.mkdir("shards")
for shard in range(3):
    with tarfile.open("shards/%d.tar" % shard, "w", format=tarfile.GNU_FORMAT) as tar:
        for i in range(100 * shard, 100 * shard + 100):
            n = rng.choice((0, 1, 700, 9000, 110000, 1300000 if i % 5 == 0 else 3))
            more = [("F%d.x" % k, rng.randbytes(20000)) for k in range(100 if i == 133 else 0)]
            for name, data in [("jpg", rng.randbytes(n)), *more, ("cls", b"%d" % i)]:
                member = tarfile.TarInfo("a/%06d.%s" % (i, name))
                member.size = len(data)
                tar.addfile(member, io.BytesIO(data))
END
truncate -s 300000 hole.bin
printf end >>hole.bin
mkdir hole
tar -cf hole/0.tar --sparse hole.bin
mkdir epochs
"$shufflefs" cat -o lanes=3 shards epochs/0.tar >0.tar
"$python" "$trainer" --tar 0.tar >want
[ "$(wc -l <want)" = 300 ] || fail "want: $(wc -l <want)"
sort want >sorted

# A file, and the same memory for the next file.
"$sidecar" send 0.tar hole/0.tar samples:s --report-fd 3 3>report 2>said &
"$python" "$trainer" s >got || fail "the trainer: $(cat got)"
wait $! || fail "the file: $(cat said)"
"$python" "$trainer" --tar hole/0.tar >hole.want
{ cat want hole.want; echo end; } >all
same all got
grep -q '"state":"done".*"samples":301,.*"held":0' report || fail "reports: $(tail -n 1 report)"
[ ! -e s ] || fail "the socket was left"

# Two trainers: each has some, and both together have all.
"$sidecar" send 0.tar samples:s 2>said &
sender=$!
"$python" "$trainer" s ahead=4 hold=1 >got.2 & # goes on when the other one has some, too
second=$!
wait_until 60 grep -q holds got.2
"$python" "$trainer" s ahead=4 >got.1 &
first=$!
wait_until 60 grep -q = got.1
touch go
wait $second || fail "the second: $(cat got.2)"
wait $first || fail "the first: $(cat got.1)"
wait $sender || fail "two trainers: $(cat said)"
rm go
cat got.1 got.2 | grep = | sort >got
same sorted got

# One that closes has had some, and leaves the others, which it has asked for ahead.
"$sidecar" send 0.tar samples:s 2>said &
sender=$!
"$python" "$trainer" s stop=5 >got.1 || fail "the one that closes: $(cat got.1)"
"$python" "$trainer" s >got.2 || fail "after one has closed: $(cat got.2)"
wait $sender || fail "one has closed: $(cat said)"
[ "$(grep -c = got.1)" = 5 ] || fail "it took $(grep -c = got.1)"
{ grep = got.1; cat got.2; } >got
{ cat want; echo end; } >all
same all got

# Trainers that say nonsense are cut off, and what they had goes to others.
"$sidecar" send 0.tar samples:s --on-consumer-death redeliver 2>said &
sender=$!
wait_until 60 test -S s
timeout 120 "$python" "$trainer" s hostile >hostile || fail "hostile: $(cat hostile)"
"$python" "$trainer" s >got || fail "after hostile ones: $(cat got)"
wait $sender || fail "hostile ones: $(cat said)"
grep = got | sort >got.sorted
same sorted got.sorted
grep -q "sent an invalid message" said || fail "said: $(cat said)"

# A socket that nobody listens on is replaced; a living one, and another file, are not.
"$sidecar" send 0.tar samples:s 2>said &
sender=$!
wait_until 60 test -S s
! "$sidecar" send 0.tar samples:s 2>refused || fail "two at one path"
grep -q "s: another process listens there" refused || fail "refused: $(cat refused)"
kill -9 $sender
! wait $sender
[ -S s ] || fail "a killed one has removed its socket"
"$sidecar" send hole/0.tar samples:s 2>said &
sender=$!
"$python" "$trainer" s >got || fail "again: $(cat got)"
wait $sender || fail "again: $(cat said)"
! "$sidecar" send 0.tar samples:want 2>refused || fail "a file was replaced"

# refuses WORDS COMMAND...
refuses() {
    words=$1
    shift
    ! "$@" 2>refused || fail "not refused: $*"
    grep -q -e "$words" refused || fail "$*: $(cat refused)"
}
refuses "--fields is for batches" "$sidecar" send 0.tar samples:s --fields cls
refuses "--batch is for batches" "$sidecar" send 0.tar samples:s --batch 3
refuses "only ?memory=MIB" "$sidecar" send 0.tar "samples:s?slots=3"
refuses "from 16 to" "$sidecar" send 0.tar "samples:s?memory=1"
refuses "--fields is for batches" "$shufflefs" forward --fields cls 0.tar samples:s

[ -w /dev/fuse ] || exit 0
for budget in 11M 200M; do
    mount_ds -o lanes=3,budget=$budget shards mnt
    "$shufflefs" forward mnt/epochs/0.tar "samples:$work/s" >said 2>&1 &
    "$python" "$trainer" s >got || fail "$budget: the trainer: $(cat got)"
    wait $! || fail "$budget: $(cat said)"
    { cat want; echo end; } >all
    same all got
    umount_ds mnt
done
