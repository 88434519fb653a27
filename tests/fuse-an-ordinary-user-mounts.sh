#!/bin/sh
# SPDX-License-Identifier: MIT
# An ordinary user mounts by fusermount3 and unmounts; nobody else can look inside.
. "${srcdir:-$(dirname "$0")/..}/tests/functions.sh"
requires_fuse
requires_root
requires fusermount3 unshare setpriv mknod

# Where only root may open /dev/fuse (a container without udev), a private one that
# all may open is put over it, in a mount namespace of our own.
if [ -z "${IN_NAMESPACE:-}" ]; then
    status=0
    IN_NAMESPACE=1 srcdir=$top unshare -m --propagation private sh \
        "$top/tests/fuse-an-ordinary-user-mounts.sh" || status=$?
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
as_nobody "$shufflefs" mount "$work/data" "$work/mnt"
as_nobody tar tf mnt/epochs/0.tar >names
[ -s names ] || fail "nothing to read"
[ "$(as_nobody stat -c %u mnt/README)" = 65534 ] || fail "owner"
ls mnt >/dev/null 2>&1 && fail "root can look inside without allow_root"
as_nobody "$shufflefs" umount "$work/mnt"
! grep -q " $work/mnt " /proc/self/mounts || fail "still mounted"
