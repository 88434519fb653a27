#!/bin/sh
# SPDX-License-Identifier: MIT
# Tables of samples that a look-up has left give way to a stream that needs the memory for
# its lanes; and a shard that goes away is an I/O error of streams, not a name that is not
# there.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
requires_fuse
requires getfattr

make_dense 16 8000
opts=lanes=16,buffer=1M,budget=13M,read-timeout=60s
"$shufflefs" cat -o lanes=16,buffer=1M dense epochs/0.tar >want.tar
mount_ds -o $opts dense mnt
[ "$(getfattr --only-values -n user.shufflefs.samples mnt/epochs/0.tar)" = 128000 ] || fail "samples"
same want.tar mnt/epochs/0.tar
getfattr -n user.shufflefs.samples mnt/epochs/1/rank-0-of-2.tar >/dev/null
same want.tar mnt/epochs/0.tar
umount_ds mnt

make_shards data --shards 5 --samples 20
mount_ds data mnt
stat mnt/epochs/0.tar >/dev/null
mv data/train-000003.tar .
for what in "stat mnt/epochs/0@7.tar" "getfattr -n user.shufflefs.samples mnt/epochs/0.tar" \
    "getfattr -n user.shufflefs.sample-at.20000 mnt/epochs/0.tar"; do
    if $what >/dev/null 2>said; then fail "$what"; fi
    grep -q "Input/output error" said || fail "$what: $(cat said)"
done
mv train-000003.tar data
wait_until 20 stat mnt/epochs/0@7.tar
umount_ds mnt
