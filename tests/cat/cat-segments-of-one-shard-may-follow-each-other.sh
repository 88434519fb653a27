#!/bin/sh
# SPDX-License-Identifier: MIT
# Where segments of one shard come to lie side by side in a lane, and in one block, streams
# are what the script computes.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"

make_shards one --shards 1 --samples 120 --bytes 900
make_shards few --shards 3 --samples 60 --bytes 900 --restart-keys

# agrees FOLDER SEGMENT LANES BUFFER NAME
agrees() {
    "$python" "$top/scripts/order.py" stream "$1" "$5" --segment "$2" --lanes "$3" --buffer "$4" >want.tar
    "$shufflefs" cat -o "segment=$2,lanes=$3,buffer=$4" "$1" "epochs/$5" >got.tar || fail "$*"
    same want.tar got.tar
}
for segment in 2048 4096 20000 sample; do
    for buffer in 4000 20000 1000000; do
        for lanes in 1 2 12; do
            agrees one $segment $lanes $buffer 0.tar
        done
        agrees few $segment 12 $buffer 1@77.tar
        agrees few $segment 12 $buffer 1/rank-1-of-2/worker-0-of-2@5.tar
    done
done
