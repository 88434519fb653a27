#!/bin/sh
# SPDX-License-Identifier: MIT
# Whatever a server answers, an epoch has every sample once and byte for byte, or ends in an
# error that is named, and soon: tried at random, with 77 illnesses (ill-origin.py).
# ILL_SEED chooses the first seed, ILL_SECONDS how long, ILL_NAME one illness.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"

make_shards shards --shards 4 --bytes 20000 --samples 25
"$shufflefs" cat -o lanes=2,buffer=64K shards epochs/0.tar >want.tar
start_origin shards "" ill-origin.py
seed=${ILL_SEED:-$test_seed}
echo "ILL_SEED=$seed"
"$python" "$top/tests/lib/ill-judge.py" "$shufflefs" "$origin" "train-{000000..000003}.tar" want.tar \
    "${ILL_SECONDS:-40}" "$seed" ${ILL_NAME:+"$ILL_NAME"} 2>judged || fail "$(cat judged)"
