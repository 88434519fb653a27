#!/bin/sh
# SPDX-License-Identifier: MIT
# Cached, O_DIRECT and mapped reads at random offsets, by several processes at once,
# give the bytes of `shufflefs cat`.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
requires_fuse

make_shards data --shards 23 --samples 60 --bytes 9000 --restart-keys --odd --format gnu
opts="seed=5,lanes=7,buffer=1M"
"$shufflefs" cat -o $opts data epochs/4.tar >whole.tar

mount_ds -o $opts,budget=40M data mnt
pids=""
for how in cached direct mapped cached direct mapped; do
    "$python" "$top/tests/lib/check-reads.py" mnt/epochs/4.tar whole.tar --how $how --reads 150 \
        --seed "$test_seed-$(echo "$pids" | wc -w)" &
    pids="$pids $!"
done
for p in $pids; do wait "$p" || fail "reads differ"; done

# And from front to back.
same whole.tar mnt/epochs/4.tar
dd if=mnt/epochs/4.tar of=direct.tar bs=1M iflag=direct status=none
same whole.tar direct.tar
dd if=mnt/epochs/4.tar of=small.tar bs=511 status=none
same whole.tar small.tar
umount_ds mnt
