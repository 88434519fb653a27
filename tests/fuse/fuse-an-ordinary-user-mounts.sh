#!/bin/sh
# SPDX-License-Identifier: MIT
# An ordinary user mounts by fusermount3 and unmounts; nobody else can look inside.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
requires_fuse
requires_root
requires fusermount3 unshare setpriv mknod

# Where only root may open /dev/fuse (a container without udev), a private one that
# all may open is put over it, in a mount namespace of our own.
if [ -z "${IN_NAMESPACE:-}" ]; then
    status=0
    IN_NAMESPACE=1 srcdir=$top unshare -m --propagation private sh \
        "$top/tests/fuse/fuse-an-ordinary-user-mounts.sh" || status=$?
    exit $status
fi
mkdir dev
mount -t tmpfs none dev || skip "cannot mount a tmpfs"
cleanup "umount -l $work/dev"
mknod -m 666 dev/fuse c 10 229 2>/dev/null || skip "cannot make a device node"
mount --bind dev/fuse /dev/fuse
make_shards data --shards 2
mkdir mnt
chmod 755 "$work"
chown nobody mnt home home/.config
as_nobody() {
    setpriv --reuid=65534 --regid=65534 --clear-groups env HOME="$work/home" "$@"
}
as_nobody test -x "$shufflefs" || skip "an ordinary user cannot reach $shufflefs"

# What fusermount3 refuses is said in one line.
mkdir mnt3
! as_nobody "$shufflefs" mount "$work/data" "$work/mnt3" 2>said || fail "mounted on root's folder"
grep -q "^shufflefs: cannot mount on $work/mnt3: user has no write access to mountpoint" said &&
    [ "$(wc -l <said)" = 1 ] || fail "$(cat said)"

as_nobody "$shufflefs" mount "$work/data" "$work/mnt"
as_nobody tar tf mnt/epochs/0.tar >names
[ -s names ] || fail "nothing to read"
[ "$(as_nobody stat -c %u mnt/README)" = 65534 ] || fail "owner"
ls mnt >/dev/null 2>&1 && fail "root can look inside without allow_root"

# Who may not unmount is told so; who may, if it is in use.
as_daemon() {
    setpriv --reuid=1 --regid=1 --clear-groups env HOME="$work/home" "$@"
}
! as_daemon "$shufflefs" umount "$work/mnt" 2>said || fail "unmounted by another user"
grep -q "^shufflefs: $work/mnt was mounted by nobody: only nobody or root can unmount it$" said || fail "$(cat said)"
as_nobody sh -c 'exec 3<mnt/README; touch home/open; while [ -e home/open ]; do sleep 0.05; done' &
reader=$!
wait_until 10 test -e home/open
! as_nobody "$shufflefs" umount "$work/mnt" 2>said || fail "unmounted while in use"
grep -q "^shufflefs: $work/mnt is in use" said && [ "$(wc -l <said)" = 1 ] || fail "$(cat said)"
! as_nobody env PATH=/nowhere "$shufflefs" umount "$work/mnt" 2>said || fail "unmounted"
grep -q "^shufflefs: cannot run fusermount3, which unmounts for ordinary users: No such file" said || fail "$(cat said)"
rm home/open
wait $reader
mkdir mnt2
"$shufflefs" mount -o allow_other data mnt2
! as_nobody "$shufflefs" umount "$work/mnt2" 2>said || fail "unmounted root's"
grep -q "mnt2 was mounted by root: only root can unmount it$" said || fail "$(cat said)"
umount_ds mnt2
! as_daemon "$shufflefs" umount --force "$work/mnt" 2>said || fail "ended by another user"
grep -q "mnt was mounted by nobody: only nobody or root can unmount it$" said || fail "$(cat said)"
as_nobody "$shufflefs" umount "$work/mnt"
! grep -q " $work/mnt " /proc/self/mounts || fail "still mounted"

# By force, if there is what that takes.
as_nobody "$shufflefs" mount "$work/data" "$work/mnt"
if ! mountpoint -q /sys/fs/fuse/connections; then
    ! as_nobody "$shufflefs" umount --force "$work/mnt" 2>said || fail "ended without fusectl"
    grep -q "cannot end $work/mnt by force: .*/abort is not there.*root can" said || fail "$(cat said)"
    mount -t fusectl none /sys/fs/fuse/connections || skip "no control of connections here"
fi
as_nobody "$shufflefs" umount --force "$work/mnt"
! grep -q " $work/mnt " /proc/self/mounts || fail "still mounted"

# Where there is no /dev/fuse.
mkdir empty
mount --bind empty /dev
! "$shufflefs" mount data mnt3 2>said || fail "mounted without /dev/fuse"
umount /dev
grep -q "^shufflefs: cannot mount on $work/mnt3: /dev/fuse does not exist; start the container" said &&
    [ "$(wc -l <said)" = 1 ] || fail "$(cat said)"
