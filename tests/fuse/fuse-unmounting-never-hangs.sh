#!/bin/sh
# SPDX-License-Identifier: MIT
# Whatever the server does, a mount goes away when it is told to, with readers that wait
# and without: umount, umount --lazy, umount(8) -l and -f, SIGTERM.  No process is left,
# and the readers get an error.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/parked.sh"
requires_fuse
requires_root

stalling_shards --shards 3

is_free() {
    ! grep -q " $work/mnt " /proc/self/mounts
}

# mount_and_read: sets $daemon and $readers, who wait
mount_and_read() {
    mount_ds $patient "$stalling" mnt
    daemon=$(daemon_pid mnt)
    cleanup "end_daemon $daemon"
    readers=""
    dd if=mnt/epochs/0.tar of=/dev/null bs=4096 status=none 2>/dev/null &
    readers="$readers $!"
    dd if=mnt/epochs/1.tar of=/dev/null bs=1M iflag=direct status=none 2>/dev/null &
    readers="$readers $!"
    dd if=mnt/shards/train-000001.tar of=/dev/null bs=4096 skip=9 status=none 2>/dev/null &
    readers="$readers $!"
    are_parked dd $readers
}

# ends COMMAND...: it ends the mount, its daemon and the readers
ends() {
    timeout $patience "$@" || fail "status $? of: $*"
    wait_until 60 is_free
    wait_until 60 is_gone "$daemon"
    for p in $readers; do
        wait_until 60 is_gone "$p"
        ! wait "$p" || fail "a reader got no error after: $*"
    done
    [ -z "$(ls mnt)" ] || fail "the mount point is not free after: $*"
}

# In use, umount says so and changes nothing.
mount_and_read
! timeout $patience "$shufflefs" umount mnt 2>said || fail "umount of a mount that is in use"
grep -q "is in use" said && [ "$(wc -l <said)" = 1 ] || fail "said: $(cat said)"
is_parked dd $readers || fail "a reader was ended by an umount that was refused"
ends kill -TERM "$daemon"

mount_and_read
ends kill -INT "$daemon"

# Lazily: out of the tree at once; the daemon goes with the last who uses it.
mount_and_read
timeout $patience "$shufflefs" umount --lazy mnt
is_free || fail "umount --lazy leaves it there"
kill -KILL $readers
ends true

mount_and_read
timeout $patience umount -l mnt
is_free || fail "umount -l leaves it there"
kill $readers
ends true

mount_and_read
ends umount -f -l mnt

# When nobody reads, requests to the server may still wait.
mount_and_read
kill -KILL $readers
for p in $readers; do
    wait_until 60 is_gone "$p"
done
ends "$shufflefs" umount mnt

# Sizes may never come: then a look-up waits.
mkdir sizeless
cp shards/train-00000?.tar sizeless
start_origin sizeless
mount_ds $patient "$origin/stall,only=*1.tar/train-{000000..000002}.tar" mnt
daemon=$(daemon_pid mnt)
head -c 1000 mnt/epochs/0.tar >/dev/null 2>&1 &
readers=$!
are_parked head $readers
ends kill -TERM "$daemon"
