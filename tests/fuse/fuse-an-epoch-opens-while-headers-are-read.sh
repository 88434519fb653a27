#!/bin/sh
# SPDX-License-Identifier: MIT
# Whoever opens an epoch of random segments waits until indexes were looked for, and never for headers
# that others have read: while a dozen folders of samples/ wait for a server that sends nothing more,
# an epoch is opened.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/parked.sh"
requires_fuse

# While there is a file shards/held, no body goes on after its first 4 KiB.
make_shards shards --shards 12 --bytes 20000 --samples 20
start_origin shards
touch shards/held
mount_ds $patient -o segment=random "$origin/pause,bytes=4096,over=600,while=held/train-{000000..000011}.tar" mnt
cleanup "end_daemon $(daemon_pid mnt)"

# (Some scans run, the others are queued.)
folders=""
for i in $(seq -w 00 11); do
    ls "mnt/samples/train-0000$i.tar" >"names.$i" &
    folders="$folders $!"
done
are_parked ls $folders
timeout $((patience / 4)) "$python" -c 'import os; os.open("mnt/epochs/0.tar", os.O_RDONLY)' || fail "the epoch cannot be opened"
is_parked ls $folders || fail "a folder was listed"

rm shards/held
for pid in $folders; do
    wait "$pid" || fail "a folder"
done
"$python" "$top/tests/lib/compare.py" shards mnt/epochs/0.tar
tar tf shards/train-000007.tar | sort | cmp - names.07
umount_ds mnt
