#!/bin/sh
# SPDX-License-Identifier: MIT
# The daemon is killed while a thread of it waits in the kernel for a page that a read has locked: it
# hangs, and the reader, too.  mount and umount say that the mount does not respond, and end; umount
# --force ends the daemon and the reader, by fusectl, or by force where there is none.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/parked.sh"
. "$top/tests/lib/notify-gate.sh"

make_control

# refuses WORDS COMMAND...: it fails, in one line.
refuses() {
    words=$1
    shift
    status=0
    timeout $patience "$shufflefs" "$@" 2>said || status=$?
    [ $status = 1 ] || fail "exit status $status of $*: $(cat said)"
    [ "$(wc -l <said)" = 1 ] && grep -q "$words" said || fail "no '$words' in: $(cat said)"
}

# ends: no thread of the daemon is left (but for a zombie that nobody asks about).
ends() {
    ! cat "/proc/$pid"/task/*/status 2>/dev/null | grep "^State" | grep -v "Z (zombie)\|X (dead)"
}

start_stalling_origin
for way in force fusectl; do
    end_by $way || continue
    m=mnt$way
    hang_at_gate $m
    kill -KILL "$pid"
    leader_is_gone() { is_gone "$pid"; }
    wait_until 60 leader_is_gone
    ! ends || fail "$way: nothing hangs"

    refuses "$m is already mounted, and does not respond.*umount --force" mount shards $m
    refuses "$m does not respond.*umount --force" umount $m
    timeout $patience "$shufflefs" umount --force $m || fail "$way: exit status $?"
    wait_until 20 is_gone $reader
    wait_until 20 ends
    exec 3<&-
    ! grep -q " $work/$m " /proc/self/mounts || fail "$way: still mounted"
done

# It ends a mount that is well, as well; and there is nothing to end where nothing is mounted.
rm shards/stalled
mount_ds shards mnt
daemon=$(daemon_pid mnt)
"$shufflefs" umount --force mnt
wait_until 20 is_gone "$daemon"
refuses "nothing is mounted on $work/mnt" umount --force mnt
mount -t tmpfs none mnt
refuses "mnt is not a shufflefs mount: its type is tmpfs" umount --force mnt
grep -q " $work/mnt " /proc/self/mounts || fail "unmounted what is not ours"
umount mnt
