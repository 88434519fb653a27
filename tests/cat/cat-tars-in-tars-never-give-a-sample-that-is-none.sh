#!/bin/sh
# SPDX-License-Identifier: MIT
# With random segments, the first sample of a segment is looked for near the cut.  If members
# hold tars, from local disk and from a server: an epoch is byte for byte what the script
# computes, or it fails with a sentence that names a shard.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/tars-in-tars.sh"

while read -r folder n_shards part order; do
    computes "$folder" "$part" "$order"
    try "$folder" "$folder" "$part" "$order"
    try "$folder" "$nginx/$folder/$folder-{00..0$((n_shards - 1))}.tar" "$part" "$order"
done <<EOD
dense 3 0              seed=1,lanes=384,buffer=64M
dense 3 1              seed=1,lanes=384,buffer=64M
dense 3 5              seed=2,lanes=12,buffer=1M
dense 3 7              seed=3,lanes=3,buffer=100K
dense 3 2/rank-1-of-3  seed=4,lanes=12,buffer=1M
dense 3 2@30           seed=5,lanes=12,buffer=1M
dense 3 3              seed=6,lanes=12,buffer=1M,on-error=skip
rare  3 0              seed=1,lanes=384,buffer=64M
rare  3 1              seed=1,lanes=384,buffer=64M
rare  3 5              seed=2,lanes=12,buffer=1M
rare  3 7              seed=3,lanes=3,buffer=100K
rare  3 2/rank-0-of-2  seed=4,lanes=12,buffer=1M
rare  3 2@400          seed=5,lanes=12,buffer=1M
rare  3 3              seed=6,lanes=12,buffer=1M,on-error=skip
small 4 0              seed=1,lanes=384,buffer=64M
small 4 1              seed=2,lanes=12,buffer=1M
small 4 2/rank-1-of-2  seed=3,lanes=6,buffer=300K
small 4 3              seed=4,lanes=12,buffer=1M,on-error=skip
EOD
echo "right: $n_right, failed: $n_failed"
[ $((n_right + n_failed)) = 36 ] || fail "not all were tried"

# With indexes nothing is guessed.
for folder in dense rare small; do
    "$shufflefs" index "$folder" >said 2>&1 || fail "$(cat said)"
    "$python" "$top/scripts/order.py" stream $folder 0.tar --seed 1 --segment random >want.tar
    "$shufflefs" cat -o seed=1,segment=random $folder epochs/0.tar >got.tar || fail "$folder fails in spite of its indexes"
    same want.tar got.tar
done
