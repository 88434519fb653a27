#!/bin/sh
# SPDX-License-Identifier: MIT
# The samples before an error are written, all of them, before the error is reported.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"

small_shards
# The victim is the second of its lane: the first shard of each lane comes before.
flip "$(byte_of 000062.jpg)"
"$shufflefs" cat $quick,segment=shard whole epochs/0.tar >want.tar
ends_early want.tar -o segment=shard shards
[ "$(wc -c <got.tar)" -ge "$(wc -c <whole/train-000000.tar)" ] ||
    fail "only $(wc -c <got.tar) bytes before the error"

# By default: from its beginning up to where the error is.
for seed in 1 2 3 4; do
    "$shufflefs" cat $quick,buffer=1K,seed=$seed whole epochs/0.tar >want.tar
    ends_early want.tar -o buffer=1K,seed=$seed shards
    [ -s got.tar ] || fail "nothing before the error, with seed=$seed"
    said "read error at byte $(wc -c <got.tar): "
done
