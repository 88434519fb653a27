#!/bin/sh
# SPDX-License-Identifier: MIT
# shufflefs-sidecar send: every sample of a stream reaches a trainer once, in batches that do
# not depend on the number of workers; what is broken is skipped and counted, or an error for
# the trainer too, as are a stream that is cut and SIGTERM.  The same through a mount.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"

sidecar=$build/shufflefs-sidecar
drain=$build/tests/lib/ring-drain
fields='png:rgb,16,rrc,flip;cls:i4'

# 3 shards of 20 images; sample i has cls i.  broken/ has a sample 7 that is no image.
"$python" - <<'END'
import io, os, random, struct, tarfile, zlib

def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

def png(rng):
    rows = b"".join(b"\0" + rng.randbytes(3 * 24) for _ in range(20))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 24, 20, 8, 2, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))

for folder in "shards", "broken":
    rng = random.Random(5)
    os.mkdir(folder)
    for shard in range(3):
        with tarfile.open("%s/%d.tar" % (folder, shard), "w", format=tarfile.USTAR_FORMAT) as tar:
            for i in range(20 * shard, 20 * shard + 20):
                for name, data in ("png", png(rng)), ("cls", b"%d" % i):
                    if folder == "broken" and i == 7 and name == "png":
                        data = data[:40]
                    info = tarfile.TarInfo("%04d.%s" % (i, name))
                    info.size = len(data)
                    tar.addfile(info, io.BytesIO(data))
END
for e in 0 1; do "$shufflefs" cat shards "epochs/$e.tar" >"e$e.tar"; done
mkdir epochs
mv e0.tar epochs/0.tar
mv e1.tar epochs/1.tar
"$shufflefs" cat broken epochs/0.tar >broken.tar

# send ARG...: into a ring, and from there into `got`.  $sent is the exit status.
send() {
    "$drain" "$work/ring" >got 2>drain-said &
    drainer=$!
    sent=0
    timeout $patience "$sidecar" send "$@" "local:$work/ring" --batch 16 2>said || sent=$?
    [ $sent != 0 ] || wait $drainer || fail "the trainer: $(cat drain-said)"
}

# has_all [WITHOUT]: each sample of an epoch, once.
has_all() {
    sed -n 's/^row .* //p' got | sort -n >classes
    seq 0 59 | grep -vx "${1:--}" | cmp - classes || fail "not each sample once: $(cat got)"
}

send epochs/0.tar --fields "$fields" --workers 4 --seed 3
[ $sent = 0 ] || fail "said: $(cat said)"
has_all
[ "$(grep -v row got | tr '\n' ,)" = "batch 0 0 16 16,batch 0 16 32 16,batch 0 32 48 16,batch 0 48 60 12,end," ] ||
    fail "got: $(grep -v row got)"
mv got want
send epochs/0.tar --fields "$fields" --workers 1 --seed 3
same want got
send epochs/0.tar --fields "$fields" --seed 4 --drop-last
! cmp -s want got || fail "the seed changes nothing"
[ "$(grep -c row got)" = 48 ] || fail "the last batch was not dropped"

# Two epochs, in one ring.
send epochs/0.tar epochs/1.tar --fields "$fields" --drop-last
[ $sent = 0 ] || fail "said: $(cat said)"
[ "$(grep batch got | cut -d ' ' -f 1-4 | tr '\n' ,)" = "batch 0 0 16,batch 0 16 32,batch 0 32 48,batch 1 0 16,batch 1 16 32,batch 1 32 48," ] ||
    fail "got: $(grep batch got)"

# A broken sample.
send broken.tar --fields "$fields" --on-error skip --max-skip 1.7% --report-fd 9 9>reports
[ $sent = 0 ] || fail "said: $(cat said)"
has_all 7
[ "$(grep batch got | cut -d ' ' -f 5 | tr '\n' ,)" = 16,16,16,11, ] || fail "a hole: $(grep batch got)"
tail -n 1 reports | grep '"state":"done"' | grep '"samples":59' | grep -q '"skipped":1' || fail "reports: $(cat reports)"


# feed FILE: a trainer has got the first batch, and the sender waits for more.
feed() {
    rm -f pipe got
    mkfifo pipe
    "$drain" "$work/ring" >got 2>drain-said &
    drainer=$!
    timeout $patience "$sidecar" send pipe --fields "$fields" --batch 2 "local:$work/ring" 2>said &
    sender=$!
    exec 8>pipe
    head -c 40000 "$1" >&8
    wait_until 60 grep -q batch got
}

# fails WHY: sender and trainer do, and say why.
fails() {
    sent=0 drained=0
    wait $sender || sent=$?
    wait $drainer || drained=$?
    [ $sent = 1 ] || fail "exit $sent: $(cat said)"
    [ $drained = 1 ] || fail "the trainer noticed nothing: $(cat got)"
    grep -q "$1" said || fail "said: $(cat said)"
    grep -q "$1" drain-said || fail "the trainer: $(cat drain-said)"
}

feed broken.tar
tail -c +40001 broken.tar >&8 2>/dev/null || :
exec 8>&-
fails "sample [0-9]* ('0007') of epoch 0"

feed epochs/0.tar
exec 8>&-
fails "without its end mark: it was cut"

feed epochs/0.tar
kill -TERM $sender
fails "stopped"
exec 8>&-

# All was sent, but the trainer holds the first batch: SIGTERM is an error for it, too.
"$drain" "$work/ring" go >got 2>drain-said &
drainer=$!
"$sidecar" send epochs/0.tar --fields "$fields" --slots 8 --batch 16 --report-fd 9 "local:$work/ring" 9>reports 2>said &
sender=$!
wait_until 60 grep -q '"state":"draining".*"filled":4' reports
kill -TERM $sender
wait_until 60 grep -q '"state":"failed"' reports
touch go
fails "stopped"

# What has no good sample is no success.
! "$sidecar" send epochs/0.tar --fields "other=nope|cls:rgb,16" --on-error skip --max-skip 100 "local:$work/ring" 2>said ||
    fail "nothing, and yet 0"
grep -q "no batch was sent; 60 broken samples were skipped" said || fail "said: $(cat said)"
! "$sidecar" send epochs/0.tar --fields "other=nope|cls:rgb,16" --on-error skip "local:$work/ring" 2>said || fail "nothing, and yet 0"
grep -q "60 of 60 samples are broken, which is more than --max-skip=1%; the last: sample 59" said || fail "said: $(cat said)"

# Who goes on at the end of an epoch, or with --drop-last just before it, has had all of it.
"$shufflefs" cat shards epochs/0@60.tar >epochs/0@60.tar
"$shufflefs" cat shards epochs/0@50.tar >epochs/0@50.tar
for end in "epochs/0@60.tar local:$work/ring --fields cls" "epochs/0@50.tar local:$work/ring --fields cls --drop-last --batch 16" \
    "epochs/0@60.tar samples:$work/ring"; do
    timeout $patience "$sidecar" send $end --give-up 30 2>said || fail "$end: $(cat said)"
done
cp epochs/0@60.tar empty.tar
! "$sidecar" send empty.tar "local:$work/ring" --fields cls 2>said || fail "an empty stream, and yet 0"
for wrong in "--batch 0" "--workers x" "--on-error no" "--max-skip 101" "--max-skip x" "--memory 1" "--memory x"; do
    ! "$sidecar" send epochs/0.tar --fields cls $wrong "local:$work/ring" 2>said || fail "$wrong"
    grep -q -e "${wrong% *}.* '${wrong#* }'" said || fail "$wrong: $(cat said)"
done
"$sidecar" send --help | grep -q -e --fields || fail "no help"

# Through a mount.
[ -w /dev/fuse ] || { echo "/dev/fuse cannot be opened here: without a mount"; exit 0; }
export SHUFFLEFS_SIDECAR="$sidecar"
mount_ds shards mnt
daemon=$(daemon_pid mnt)
"$drain" "$work/ring" >got 2>drain-said &
drainer=$!
timeout $patience "$shufflefs" forward --fields="$fields" --batch=16 --seed=3 mnt/epochs/0.tar "local:$work/ring" >said 2>&1 ||
    fail "forward: $(cat said)"
wait $drainer || fail "the trainer: $(cat drain-said)"
same want got

# Unmounting leaves no process: here it ends one that waits for a trainer.
"$shufflefs" forward --fields="$fields" --batch=16 mnt/epochs/0.tar "local:$work/ring" >said 2>&1 &
wait_until 60 test -S ring
kill -TERM "$daemon"
wait_until 60 is_gone "$daemon"
left=$(our_processes -f "[l]ocal:$work/ring")
[ -z "$left" ] || fail "left running: $left"
