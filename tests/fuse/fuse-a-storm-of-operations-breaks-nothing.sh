#!/bin/sh
# SPDX-License-Identifier: MIT
# Whatever a dozen processes do to a mount at once, with some of them killed and the mount taken
# away under the others: bytes are right, errors are those that may be, no call hangs, and the
# daemon ends in time.  STORM_SECONDS (60) says how long, STORM_SEED repeats a storm.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
requires_fuse
requires_root

make_shards shards --shards 4 --samples 30 --bytes 30000 --odd --format webdataset
start_origin shards
cleanup "end_storm"

# However it ended, nothing of it is left.
end_storm() {
    umount -l mnt 2>/dev/null
    [ ! -s storm.pid ] || kill -KILL "-$(cat storm.pid)" 2>/dev/null
}

setsid "$python" -c 'import os, sys
with open("storm.pid", "w") as file: print(os.getpid(), file=file)
os.execv(sys.executable, [sys.executable] + sys.argv[1:])' \
    "$top/tests/lib/op-storm.py" "$shufflefs" "$work/shards" --origin "$origin" \
    --seconds "${STORM_SECONDS:-60}" --seed "${STORM_SEED:-$test_seed}" ||
    fail "the storm broke something"
