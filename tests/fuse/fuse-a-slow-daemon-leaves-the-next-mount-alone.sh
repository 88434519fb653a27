#!/bin/sh
# SPDX-License-Identifier: MIT
# A daemon that hangs when it has unmounted already is ended like any other.  If another mount is at
# its place by then, which may have the device number of the one before, that stays.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
requires_fuse
requires_root
[ -e "$build/tests/lib/fuse-gates.so" ] || skip "this build has no tests/lib/fuse-gates.so"

make_shards data --shards 1
mkdir mnt
device() {
    mountpoint -d mnt
}
gated() {
    rm -f gate.waits
    ASAN_OPTIONS="${ASAN_OPTIONS:-}:verify_asan_link_order=0" TSAN_OPTIONS="${TSAN_OPTIONS:-}:report_thread_leaks=0" \
        LD_PRELOAD="$build/tests/lib/fuse-gates.so ${LD_PRELOAD:-}" UNMOUNTED_GATE="$work/gate" \
        "$shufflefs" mount -f data mnt 2>log &
    slow=$!
    wait_until 30 test -e mnt/README
    before=$(device)
    umount mnt
    wait_until 30 test -e gate.waits
}

# (The kernel gives the lowest number that is free; other mounts may come and go meanwhile.)
for try in 1 2 3 4 5; do
    gated
    mount_ds data mnt
    [ "$(device)" != "$before" ] || break
    kill -KILL $slow
    umount_ds mnt
done
[ "$(device)" = "$before" ] || skip "five new mounts had other device numbers"

status=0
wait $slow || status=$?
[ $status = 1 ] && grep -q "exiting by force" log || fail "status $status: $(cat log)"
[ "$(device)" = "$before" ] || fail "the next mount is gone"
"$shufflefs" cat data epochs/0.tar | cmp - mnt/epochs/0.tar || fail "other bytes"
umount_ds mnt
