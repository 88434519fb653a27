#!/bin/sh
# SPDX-License-Identifier: MIT
# `mount -t fuse.shufflefs`, a line of fstab and a link named mount.shufflefs mount a dataset with
# its options, whatever words mount(8) adds; `umount` ends it; what fails says why.
if [ "$(id -u)" = 0 ] && [ -z "${INSIDE:-}" ]; then
    INSIDE=1 exec unshare --mount --propagation private sh "$0"
fi
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
requires_fuse
requires_root
[ -x /sbin/mount.fuse3 ] || [ -x /sbin/mount.fuse ] || skip "no mount.fuse3"
make_shards "a folder/data" --shards 2
mkdir mnt
# mount.fuse3 looks for the program in a PATH of its own.
mount -t tmpfs tmpfs /usr/local/bin && ln -s "$shufflefs" /usr/local/bin/shufflefs
"$shufflefs" cat -o seed=7 "a folder/data" epochs/0.tar >want

# is_mounted: as wanted; unmounts it by umount(8).
is_mounted() {
    grep -q " $work/mnt fuse.shufflefs ro,nosuid,nodev" /proc/self/mounts || fail "$* $(grep mnt /proc/self/mounts)"
    same want mnt/epochs/0.tar
    pid=$(daemon_pid mnt)
    umount mnt
    wait_until 15 is_gone "$pid"
}

for options in seed=7 ro,seed=7 rw,seed=7,relatime defaults,seed=7,_netdev,nofail,x-systemd.automount \
    seed=7,async,suid,dev,exec,noauto,user,lazytime,nosymfollow seed=7,noatime,nodiratime,noexec; do
    mount -t fuse.shufflefs "a folder/data" mnt -o "$options" || fail "-o $options"
    is_mounted "-o $options"
done
printf '%s\n' "$work/a\\040folder/data $work/mnt fuse.shufflefs ro,_netdev,seed=7,nofail,relatime 0 0" >fstab
mount -T fstab "$work/mnt" || fail "fstab"
is_mounted fstab

# A section of an ini file, also if its name is nearly that of a command.
printf '[c4]\nsource = %s\nseed = 7\n' "$work/a folder/data" >sections
mount -t fuse.shufflefs c4 mnt -o "config=$work/sections" || fail "a section"
is_mounted section

# By a name of its own.
ln -s "$shufflefs" mount.shufflefs
./mount.shufflefs "a folder/data" mnt -sn -v -o rw,seed=7 -t shufflefs || fail "mount.shufflefs"
is_mounted mount.shufflefs
./mount.shufflefs "a folder/data" mnt -f -o rw || fail "fake"
! grep -q " $work/mnt " /proc/self/mounts || fail "-f is fake"
status=0
./mount.shufflefs "a folder/data" mnt -o rw,sede=7 2>said || status=$?
[ $status != 0 ] && grep -q "did you mean 'seed'" said || fail "status $status: $(cat said)"
status=0
mount -t fuse.shufflefs "$work/nothing.tar" mnt 2>said || status=$?
[ $status != 0 ] && grep -q "No such file" said || fail "status $status: $(cat said)"
! grep -q " $work/mnt " /proc/self/mounts || fail "left mounted"
