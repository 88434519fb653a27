#!/bin/sh
# SPDX-License-Identifier: MIT
# While a look-up waits for a silent server, others in the same folder are answered; and
# who waits can be killed.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
requires_fuse

make_shards data --shards 3
start_origin data
mount_ds -o stall-timeout=100s,read-timeout=300s \
    "$origin/stall,only=*1.tar/train-{000000..000002}.tar" mnt
stat -c %s mnt/shards/train-000001.tar &
parked=$!
sleep 0.5
timeout -s KILL $patience stat -c %s mnt/shards/train-000000.tar || fail "the other look-up waits too"
kill -0 $parked || fail "the server was not silent"
kill -9 $parked
wait_until 20 sh -c "! kill -0 $parked"
umount_ds mnt
