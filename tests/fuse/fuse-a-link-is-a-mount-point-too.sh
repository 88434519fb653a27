#!/bin/sh
# SPDX-License-Identifier: MIT
# A symbolic link to a folder serves as the mount point, to mount, to unmount, and to
# mount over what is dead.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
requires_fuse

make_shards data --shards 2 --samples 4
mkdir mnt
ln -s mnt link
ln -s "$work/link" second
"$shufflefs" mount data second
[ -e mnt/README ] || fail "not mounted where the links lead"
! "$shufflefs" mount data link 2>said || fail "mounted twice"
grep -q 'already' said || fail "$(cat said)"
"$shufflefs" umount link
[ ! -e mnt/README ] || fail "still mounted"

"$shufflefs" mount data mnt
pid=$(daemon_pid mnt)
kill -9 "$pid"
wait_until 10 sh -c '! kill -0 '"$pid"
"$shufflefs" mount data second
[ "$(daemon_pid mnt)" != "$pid" ] || fail "the dead one answers"
umount_ds link

ln -s nowhere dangling
! "$shufflefs" mount data dangling 2>said || fail "mounted nowhere"
ln -s ring ring
! "$shufflefs" mount data ring 2>said || fail "mounted on a ring"
[ "$(wc -l <said)" = 1 ] || fail "$(cat said)"
