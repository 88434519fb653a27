#!/bin/sh
# SPDX-License-Identifier: MIT
# umount that does not end the daemon says so, and why: another mount namespace or another folder has
# the mount, too.  It waits for the right process, whatever PID namespace that has its number from.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/parked.sh"
requires_fuse
requires_root
requires unshare nsenter

make_shards data --shards 1

# says WORDS COMMAND...: fails, in one line.
says() {
    words=$1
    shift
    status=0
    timeout $patience "$@" 2>said || status=$?
    [ $status = 1 ] || fail "status $status of: $*"
    [ "$(wc -l <said)" = 1 ] && grep -q "$words" said || fail "no '$words' in: $(cat said)"
}

# A copy in another mount namespace; what the line says to do ends the daemon.
mount_ds data mnt
daemon=$(daemon_pid mnt)
unshare -m --propagation private sleep 1000 &
other=$!
has_copy() { [ "$(readlink /proc/$other/ns/mnt)" != "$(readlink /proc/self/ns/mnt)" ] && grep -q sleep /proc/$other/comm; }
wait_until 20 has_copy
says "daemon, process $daemon, goes on: process $other has a copy of the mount in another mount namespace" \
    "$shufflefs" umount mnt
! grep -q " $work/mnt " /proc/self/mounts || fail "still mounted here"
! is_gone "$daemon" || fail "the daemon has ended"
eval "$(sed -n 's/.*unmount that, too: \(nsenter .*\), or end the daemon.*/\1/p' said)"
wait_until 20 is_gone "$daemon"
kill $other

# A second place in the same one.
mkdir mnt2
mount_ds data mnt
daemon=$(daemon_pid mnt)
mount --bind mnt mnt2
says "it is also mounted on $work/mnt2" "$shufflefs" umount mnt
umount_ds mnt2
is_gone "$daemon" || fail "umount did not wait for the daemon"

# (A sanitizer looks for its own process in /proc, where a process of a namespace below is not found.)
! has_sanitizer || exit 0

# A daemon of a PID namespace below ours: its number there is another process here.
unshare --pid --fork sh -c '"$0" mount -f data mnt & wait' "$shufflefs" &
wait_until 30 test -e mnt/README
[ "$(daemon_pid mnt)" -lt 10 ] || fail "no PID namespace"
daemon=$(our_processes -f "shufflefs mount -f data mnt" | tail -n 1)
umount_ds mnt 2>said || fail "$(cat said)"
[ ! -s said ] || fail "$(cat said)"
is_gone "$daemon" || fail "umount did not wait for process $daemon"

# A process of a namespace below sees the daemon where /proc shows it, and else waits for nobody else.
mkdir shared
mount -t tmpfs none shared
cleanup "umount -l $work/shared/mnt $work/shared"
mount --make-shared shared
for sees in yes no; do
    mount_ds data shared/mnt
    daemon=$(daemon_pid shared/mnt)
    unshare --pid --fork --mount --propagation unchanged sh -c \
        '[ "$1" = yes ] || mount -t proc proc /proc && exec "$0" umount shared/mnt' "$shufflefs" $sees 2>said ||
        fail "$(cat said)"
    if [ $sees = yes ]; then
        [ ! -s said ] || fail "$(cat said)"
        is_gone "$daemon" || fail "umount did not wait for process $daemon"
    else
        grep -q "nobody waits for its daemon, which is process $daemon of a PID namespace" said || fail "$(cat said)"
        wait_until 20 is_gone "$daemon"
    fi
done
