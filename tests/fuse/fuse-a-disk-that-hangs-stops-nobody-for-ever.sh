#!/bin/sh
# SPDX-License-Identifier: MIT
# Local shards on a disk that does not answer any more: readers get EIO after read-timeout,
# with a line that says why; the mount can be unmounted, SIGTERM ends it, and no command waits
# for longer.  The disk is another mount of ours, which a signal has stopped.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/parked.sh"
. "$top/tests/lib/late.sh"
requires_fuse

make_shards shards --bytes 20000 --samples 20 --shards 3
mount_ds -o direct_io "$work/shards" mnt-disk
disk=$(daemon_pid mnt-disk)
cleanup "kill -CONT $disk; end_daemon $disk"

mount_ds $soon mnt-disk/shards mnt
daemon=$(daemon_pid mnt)
cleanup "end_daemon $daemon"
mount_ds $soon mnt-disk/shards mnt2
daemon2=$(daemon_pid mnt2)
cleanup "end_daemon $daemon2"
head -c 1000 mnt/README >/dev/null

stop "$disk"

# Reads, and a look-up that needs bytes of a shard.
for read in "cat mnt/epochs/0.tar" "head -c 9000 mnt/shards/train-000001.tar" \
    "dd if=mnt/epochs/1.tar bs=1M count=1 iflag=direct" "ls mnt/samples/train-000002.tar"; do
    timeout $patience $read >got 2>said && fail "no error: $read"
    grep -q "Input/output error" said || fail "$read: $(cat said)"
done
errors_have mnt "after 3 s (read-timeout) waiting for bytes from $work/mnt-disk/shards/"
errors_have mnt "after 3 s (read-timeout) waiting for the headers from $work/mnt-disk/shards/"
cat mnt/.shufflefs/stats.json >/dev/null

# Unmounting, and SIGTERM under a reader.
timeout $patience "$shufflefs" umount mnt || fail "umount: $?"
wait_until 60 is_gone "$daemon"
cat mnt2/epochs/0.tar >/dev/null 2>&1 &
reader=$!
are_parked cat $reader
kill -TERM "$daemon2"
wait_until 60 is_gone "$daemon2"
wait_until 60 is_gone "$reader"
! grep -q " $work/mnt2 " /proc/self/mounts || fail "still mounted"

# Commands: where the folder cannot be listed, ...
list="train-{000000..000002}.tar"
ends_late "$shufflefs" cat $soon mnt-disk/shards epochs/0.tar
# ... where a shard cannot be opened, ...
mkdir to mnt3
ends_late "$shufflefs" cat $soon "mnt-disk/shards/$list" epochs/0.tar
ends_late "$shufflefs" plan $soon "mnt-disk/shards/$list"
ends_late "$shufflefs" index $soon --to=to "mnt-disk/shards/$list"
ends_late "$shufflefs" bench $soon "mnt-disk/shards/$list"
# ... where indexes cannot be written, or looked for, ...
ends_late "$shufflefs" index $soon --to=mnt-disk/to shards
ends_late "$shufflefs" plan $soon -o index=mnt-disk/to shards
ends_late "$shufflefs" mount $soon "mnt-disk/shards/$list" mnt3
# ... and where it cannot be read.
start_origin shards
touch shards/stalled
mount_ds -o read-timeout=10m,stall-timeout=10m "$origin/stall,over=600,while=stalled/$list" mnt-slow
cleanup "end_daemon $(daemon_pid mnt-slow)"
ends_late "$shufflefs" cat $soon mnt-slow/shards epochs/0.tar
ends_late "$shufflefs" cat $soon mnt-slow/shards samples/train-000001.tar/000020.jpg
ends_late "$shufflefs" cat $soon -o segment=sample mnt-slow/shards epochs/0.tar
ends_late "$shufflefs" plan $soon mnt-slow/shards
ends_late "$shufflefs" index $soon --to=to mnt-slow/shards
ends_late "$shufflefs" bench $soon mnt-slow/shards
all_ended
rm shards/stalled

# And when the disk answers again, all is well.
kill -CONT "$disk"
"$shufflefs" cat $soon mnt-disk/shards epochs/0.tar >got
"$shufflefs" cat $soon shards epochs/0.tar >want
same got want
umount_ds mnt-disk
