#!/bin/sh
# SPDX-License-Identifier: MIT
# SIGTERM while the kernel drops pages of a stream and waits for one that a read has locked, whose
# origin is silent: the daemon ends and so do the readers, and none is left that nothing can kill.
. "${srcdir:-$(dirname "$0")/..}/tests/functions.sh"
. "$top/tests/parked.sh"
requires_fuse
requires_root
[ -e "$build/tests/notify-gate.so" ] || skip "this build has no tests/notify-gate.so"

# What is stuck although it must not be, this frees.
control=/sys/fs/fuse/connections
[ -e "$control/1" ] || mount -t fusectl none $control 2>/dev/null ||
    ls $control/*/abort >/dev/null 2>&1 || skip "no control of connections here"
abort_it() {
    [ ! -e "$control/${connection:-none}/abort" ] || echo 1 >"$control/$connection/abort"
}
cleanup abort_it

make_shards shards --shards 4 --samples 60 --bytes 500000
start_origin shards
stalling="$origin/stall,over=600,while=stalled/train-{000000..000003}.tar"
steps=5
for step in $(seq $steps); do
    rm -rf shards/stalled gate gate.*
    mkdir mnt$step
    # (A thread that is in the kernel is not joined when the process is ended by force.)
    NOTIFY_GATE="$work/gate" LD_PRELOAD="$build/tests/notify-gate.so ${LD_PRELOAD:-}" \
        "$shufflefs" mount $patient,index-cache=no,next-epoch=no "$stalling" mnt$step ||
        fail "cannot mount"
    m=mnt$step
    pid=$(daemon_pid $m)
    connection=$(mountpoint -d $m | sed 's/.*://')

    # The first 16 MiB are about to be dropped; the pages of all of it go before.
    exec 3<$m/epochs/0.tar
    head -c 110000000 <&3 >/dev/null
    wait_until 60 test -e gate.waits
    "$python" -c 'import os, sys; os.posix_fadvise(int(sys.argv[1]), 0, 0, os.POSIX_FADV_DONTNEED)' 3

    # Readers begin again there, and wait for the silent origin with pages locked.
    touch shards/stalled
    readers=""
    for mib in 0 1 3 5 7 9 11 13 15; do
        dd if=$m/epochs/0.tar of=/dev/null bs=64K skip=$((mib * 16)) status=none 2>/dev/null &
        readers="$readers $!"
        is_waiting() { is_parked dd $!; }
        wait_until 60 is_waiting
    done
    touch gate
    wait_until 60 test -e gate.in
    sleep 0.0$step # (not to wait for anything: the kernel is somewhere else each time)
    kill -TERM "$pid"
    wait_until 20 is_gone "$pid"
    for reader in $readers; do
        wait_until 20 is_gone "$reader"
    done
    exec 3<&-
    ! grep -q " $work/$m " /proc/self/mounts || fail "still mounted"
done
