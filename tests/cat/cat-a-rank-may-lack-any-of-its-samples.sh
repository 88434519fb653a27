#!/bin/sh
# SPDX-License-Identifier: MIT
# With equal=drop, the sample that a rank lacks may be any of its last block: the first of
# them in the lane, or the last.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"

make_shards ds --shards 1 --samples 9 --bytes 300

for seed in 1 2 3 4 5 6 7 8 9 10 11 12; do
    "$python" "$top/scripts/order.py" stream ds 0/rank-0-of-2.tar --seed $seed --lanes 2 \
        --segment sample --equal drop >want.tar
    "$shufflefs" cat -o seed=$seed,lanes=2,segment=sample,equal=drop ds \
        epochs/0/rank-0-of-2.tar >got.tar || fail "seed $seed"
    same want.tar got.tar
done
