#!/bin/sh
# SPDX-License-Identifier: MIT
# Nobody learns a header, a password or a signature from the list of processes, from a mount's
# config or from the table of mounts.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"
requires_fuse

good_shards
start_origin shards
mkdir mnt

# words: those of the processes of shufflefs that this test has started.
words() {
    for pid in $(our_processes -x shufflefs); do
        tr '\0' ' ' <"/proc/$pid/cmdline" && echo
    done
}

url="http://ann:SECRET@${origin#http://}/$three?signature=SECRET"
mount_ds $quick -o "header=X-One: SECRET,header=X-Two: SECRET" --header "X-Three: SECRET" \
    --header-command "echo X-Four: SECRET" "$url" mnt
same want.tar mnt/epochs/0.tar
for name in authorization x-one x-two x-three x-four signature; do
    asked "$name.*SECRET"
done
words >got-words
grep -q "X-Three: \*\*\*.*/train-{000000..000002}.tar" got-words || fail "not readable: $(cat got-words)"
! grep SECRET got-words || fail "in the list of processes"
! grep SECRET /proc/self/mounts || fail "in the table of mounts"
! grep -rl SECRET mnt/.shufflefs || fail "in .shufflefs"
umount_ds mnt
