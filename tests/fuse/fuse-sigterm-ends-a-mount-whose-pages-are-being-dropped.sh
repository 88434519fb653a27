#!/bin/sh
# SPDX-License-Identifier: MIT
# SIGTERM while the kernel drops pages of a stream and waits for one that a read has locked, whose
# origin is silent: the daemon ends and so do the readers, and none is left that nothing can kill.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/parked.sh"
. "$top/tests/lib/notify-gate.sh"

control=/sys/fs/fuse/connections
[ -e "$control/1" ] || mount -t fusectl none $control 2>/dev/null ||
    ls $control/*/abort >/dev/null 2>&1 || skip "no control of connections here"
cleanup abort_it

start_stalling_origin
steps=5
for step in $(seq $steps); do
    m=mnt$step
    mount_gated $m

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
