#!/bin/sh
# SPDX-License-Identifier: MIT
# With random segments and members that hold tars, the stream of a rank or a worker that is read
# alone, from local disk and from a server, is byte for byte what the script computes; or it fails,
# with a sentence that names a shard.  (When nobody looked whether its first samples are some, 20 of
# 22 runs of one of these gave others, and no error.)
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/tars-in-tars.sh"

"$python" "$top/tests/lib/tars-in-tars.py" long 2 300 8000000 8000000 300 2000

while read -r folder last part order; do
    computes "$folder" "$part" "$order"
    for again in 1 2; do
        try "$folder" "$folder" "$part" "$order"
        try "$folder" "$nginx/$folder/$folder-{00..$last}.tar" "$part" "$order"
    done
done <<EOD
rare  02 4/rank-5-of-8/worker-1-of-2 seed=131,lanes=384,buffer=1000000
rare  02 0/rank-0-of-2               seed=11,lanes=12,buffer=1M
rare  02 7/rank-1-of-5/worker-0-of-3 seed=723,lanes=255,buffer=7368400
rare  02 2/rank-6-of-7               seed=12,lanes=70,buffer=1M
dense 02 1/rank-3-of-4               seed=13,lanes=384,buffer=64M
dense 02 5/rank-1-of-6/worker-0-of-2 seed=14,lanes=36,buffer=1M
small 03 2/rank-2-of-3               seed=15,lanes=384,buffer=64M
long  01 0/rank-0-of-8               seed=1,lanes=384,buffer=64M
long  01 0/rank-2-of-8               seed=1,lanes=384,buffer=64M
long  01 0/rank-5-of-8               seed=1,lanes=384,buffer=64M
EOD
echo "right: $n_right, failed: $n_failed"
[ $n_right -gt 0 ] && [ $n_failed -gt 0 ] && [ $((n_right + n_failed)) = 40 ] || fail "not all were tried, or no guess was wrong"

# From the K-th sample on nothing is guessed.
"$python" "$top/scripts/order.py" stream rare 4/rank-5-of-8@9.tar --seed 131 --segment random >want.tar
for source in rare "$nginx/rare/rare-{00..02}.tar"; do
    "$shufflefs" cat -o index-cache=no,segment=random,seed=131 "$source" epochs/4/rank-5-of-8@9.tar >got.tar || fail "@9 of $source"
    same want.tar got.tar
done
