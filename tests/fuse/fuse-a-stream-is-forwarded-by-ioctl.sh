#!/bin/sh
# SPDX-License-Identifier: MIT
# A mount forwards a stream by ioctl: the child gets every byte of it; its death, its
# errors and those of the stream are in STATUS and end a WAIT; closing the file, STOP and
# unmounting end the child.  Only who mounted it may do so.  The child is told where a secret is.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"
requires_fuse
requires_sidecar
export SHUFFLEFS_SLABS=private # the child below reads bytes

ioctl() {
    timeout $patience "$python" "$top/tests/lib/forward-ioctl.py" "$@" >said 2>&1 || fail "$1: $(cat said)"
}

# child COMMANDS: from now on, this is the sidecar: the stream is 3, reports go to 4.
child() {
    printf '#!/bin/sh\ncd "%s"\n%s\n' "$work" "$*" >sidecar
    chmod 755 sidecar
}
export SHUFFLEFS_SIDECAR="$work/sidecar"
# Neither may other descriptors come along, nor signals be blocked.
# (10 and 11 are the shell's own.)
decent='ls /proc/$$/fd >fds
! grep -v "^[01234]\$\|^1[01]\$" fds >&2 || exit 1
while read -r what value; do # (by the shell: it blocks signals while a command runs)
    [ "$what" != SigBlk: ] || [ "$value" = 0000000000000000 ] || { echo signals >&2; exit 1; }
done </proc/$$/status'

good_shards --samples 20
mount_ds $quick shards mnt
daemon=$(daemon_pid mnt)

child 'touch touched'
ioctl refused mnt/epochs/0.tar mnt/README
[ ! -e touched ] || fail "something was started"

# Every byte arrives, and what was asked for; reports are read, odd ones left alone.
child "$decent"'
last="\"seconds\":3.0,\"waits\":{\"reader\":0.5,\"decoder\":0.25,\"transport\":0.125}"
last="$last,\"transport\":{\"x\":[],\"memory\":{\"kind\":\"cuda\",\"placement\":\"dma-buf\"}}"
echo "$@" >args
echo "{\"state\":\"connecting\"} no JSON" >&4
cat <&3 >got.tar
while ! [ -d go ]; do sleep 0.02; done
echo "{\"seconds\":1,\"bytes\":549755813888}" >&4
echo "{\"state\":\"done\",\"error\":\"\",\"batches\":3,\"samples\":12,\"skipped\":1,\"bytes\":1099511627776,\"next\":13,\"more\":{\"state\":[1]},$last}" >&4'
ioctl arrives mnt/epochs/0.tar
same want.tar got-0.tar
same mnt/epochs/0@7.tar got-7.tar
[ "$(cat args)" = "send --fields=jpg;cls:i4 --batch=256 --stream-fd=3 --report-fd=4 -- epochs/0@7.tar local:/somewhere" ] ||
    fail "args: $(cat args)"

child 'echo "shufflefs-sidecar: no such field" >&2; exit 2'
ioctl ends mnt/epochs/0.tar 5 "no such field"
child 'echo "{\"state\":\"failed\",\"error\":\"a broken image\"}" >&4; exit 1'
ioctl ends mnt/epochs/0.tar 5 "a broken image"
child 'exit 0'
ioctl ends mnt/epochs/0.tar 5 "before it was done"

# What lives longer than the child, and ignores signals, ends too.
child 'trap "" TERM
sleep 1000 & echo $! >grandchild
echo "{\"state\":\"streaming\"}" >&4
trap - TERM
wait'
timeout $patience "$python" "$top/tests/lib/forward-ioctl.py" ended mnt/epochs/0.tar >said 2>&1 &
waiter=$!
gone() { ! kill -0 "$1" 2>/dev/null || grep -q '^State:.Z' "/proc/$1/status"; }
wait_until 60 test -e started
kill -TERM "$daemon"
wait $waiter || fail "ended: $(cat said)"
wait_until 20 gone "$daemon"
wait_until 20 gone "$(cat started)"
wait_until 20 gone "$(cat grandchild)"

# The file of a secret is found from where forward was called.
mount_ds $quick shards mnt
child 'echo "$@" >args
cat <&3 >got.tar
echo "{\"state\":\"done\"}" >&4'
"$shufflefs" forward --fields=jpg --secret-file=secrets/one mnt/epochs/0.tar tcp://x:1
grep -qF -- " --secret-file=$PWD/secrets/one --stream-fd=3 " args || fail "args: $(cat args)"
"$shufflefs" forward --fields=jpg --secret-file=/secret mnt/epochs/0.tar tcp://x:1
grep -qF -- " --secret-file=/secret --" args || fail "args: $(cat args)"
umount_ds mnt

# shufflefs forward.  An error of the stream reaches the child as a cut.
start_origin shards
child 'cat <&3 >cut.tar
echo "{\"state\":\"done\"}" >&4'
mount_ds $quick $brief -o retries=0 "$origin/404,only=*1.tar,while=missing,over=1000/$three" mnt
"$shufflefs" forward --fields=jpg mnt/epochs/0.tar local:x
same want.tar cut.tar
touch shards/missing
! "$shufflefs" forward --fields=jpg mnt/epochs/1.tar local:x 2>said || fail "no error"
grep -q "^shufflefs: epochs/1.tar: read error at byte [0-9]*: Input/output error; .shufflefs/errors" said || fail "said: $(cat said)"
[ "$(wc -c <cut.tar)" -lt "$(wc -c <want.tar)" ] || fail "no cut"
! "$shufflefs" forward --fields=jpg shards/train-000000.tar local:x 2>said || fail "no error"
grep -q "is not a stream of a shufflefs mount" said || fail "said: $(cat said)"
rm sidecar shards/missing
! "$shufflefs" forward --fields=jpg mnt/epochs/0.tar local:x 2>said || fail "no error"
grep -q "cannot start $work/sidecar: No such file" said || fail "said: $(cat said)"

# A seed has 64 bits, and a path is that of who forwards.
child 'echo "$@" >args; cat <&3 >/dev/null; echo "{\"state\":\"done\"}" >&4'
mkdir sub
(cd sub && "$shufflefs" forward --fields=jpg --seed=18446744073709551615 --on-error=skip --max-skip=2.5% ../mnt/epochs/0.tar local:r?memory=host) 2>said ||
    fail "said: $(cat said)"
grep -q -- "--seed=18446744073709551615 --on-error=skip --max-skip=2.5 .* local:$work/sub/r?memory=host$" args || fail "args: $(cat args)"
! "$shufflefs" forward --fields=jpg --seed=18446744073709551616 mnt/epochs/0.tar local:x 2>said || fail "no error"
! "$shufflefs" forward --fields=jpg mnt/epochs/0.tar lokal:x 2>said || fail "no error"
grep -q "'lokal:x' has an unknown scheme; use local:PATH" said || fail "said: $(cat said)"

# Ctrl-C stops the session; a mount is not kept busy.
child 'echo "{\"state\":\"streaming\",\"next\":5}" >&4; touch streams; sleep 1000'
env --default-signal=INT "$shufflefs" forward --fields=jpg mnt/epochs/0.tar local:x 2>said &
forward=$!
wait_until 20 test -e streams
kill -INT $forward
! wait $forward || fail "stopped, and yet 0"
grep -q "stopped; to resume with the same receiver and trainers, run the same command again; .*add --first=5" said || fail "said: $(cat said)"
umount_ds mnt

[ "$(id -u)" = 0 ] || exit 0
chmod 755 "$work"
mount_ds -o allow_other shards mnt
cp "$top/tests/lib/forward-ioctl.py" .
as_nobody() {
    setpriv --reuid=65534 --regid=65534 --clear-groups timeout $patience "$@"
}
as_nobody "$python" -c '' 2>/dev/null || python=/usr/bin/python3
as_nobody "$python" forward-ioctl.py forbidden mnt/epochs/0.tar >said 2>&1 ||
    fail "another user: $(cat said)"
umount_ds mnt
