#!/bin/sh
# SPDX-License-Identifier: MIT
# Whatever 1 to 64 readers of 27 kinds do to mounts with budgets of 8 to 64 MiB, in any order of
# samples small and giant: each byte is right, no read fails, and the daemon ends well.
# STORM_SECONDS (60) says how long, STORM_SEED repeats a storm.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
requires_fuse

make_shards small --shards 12 --samples 60 --bytes 20000 --restart-keys
make_shards giant --shards 6 --samples 5 --bytes 5000000
make_shards mixed --shards 9 --samples 25 --bytes 90000 --odd --format webdataset
start_origin small
first=$origin
start_origin giant
served="--origin $first --origin $origin"
if command -v nginx >/dev/null; then
    start_nginx mixed
    served="$served --origin $nginx"
fi
cleanup "umount -l mnt 2>/dev/null"
"$python" "$top/tests/lib/reader-storm.py" "$shufflefs" "$work/small" "$work/giant" "$work/mixed" $served \
    --seconds "${STORM_SECONDS:-60}" --seed "${STORM_SEED:-$test_seed}" ${STORM_ONLY:+--only "$STORM_ONLY"} || fail "the storm broke something"
