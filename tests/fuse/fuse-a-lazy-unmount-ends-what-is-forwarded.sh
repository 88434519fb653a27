#!/bin/sh
# SPDX-License-Identifier: MIT
# A mount that is unmounted lazily while a stream of it is forwarded ends the session, its sidecar,
# and itself, though the stream's file is open.  Other mounts that come and go end nothing.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"
requires_fuse
requires_sidecar

good_shards --samples 20
mount_ds $quick shards mnt
mount_ds $quick shards other
daemon=$(daemon_pid mnt)
"$shufflefs" forward --fields=jpg:bytes,100000 --batch=4 mnt/epochs/0.tar local:ring 2>said &
forward=$!
wait_until 60 test -S ring
umount_ds other
mount_ds $quick shards other
[ -S ring ] && kill -0 $forward || fail "it ended with another mount: $(cat said)"
"$shufflefs" umount --lazy mnt || fail "umount --lazy"
status=0
wait $forward || status=$?
[ $status = 1 ] || fail "forward: status $status: $(cat said)"
grep -q "stopped; \|the mount is gone" said || fail "forward: $(cat said)"
wait_until 60 is_gone "$daemon"
[ ! -e ring ] || fail "the ring is there still"
umount_ds other
