#!/bin/sh
# SPDX-License-Identifier: MIT
# With segments smaller than a shard, and with equal lanes, streams are byte for byte what
# the script computes: of ranks and workers, from any sample on, cut or padded, with much
# memory and with little, and with samples that are larger than a lane may hold.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"

make_shards ds --shards 9 --samples 23 --bytes 900 --restart-keys --odd --name "a-%02d.tar"
make_shards ds --shards 1 --samples 250 --bytes 100 --restart-keys --format gnu --name "long.tar"
make_shards ds --shards 2 --samples 0 --name "empty-%d.tar"
make_shards ds --shards 1 --samples 1 --bytes 200000 --format pax --name "one.tar"

# agrees FOLDER EPOCH-OR-PART: with the script, as `segment`, `equal`, ... say.
n_cases=0
agrees() {
    order="seed=$seed,lanes=$lanes,buffer=$buffer,segment=$segment,equal=$equal,keys=$keys"
    "$python" "$top/scripts/order.py" stream "$1" "$2" --seed $seed --lanes $lanes \
        --buffer $buffer --segment $segment --equal $equal --keys $keys >want.tar
    "$shufflefs" cat -o "$order,budget=$budget" "$1" "epochs/$2" >got.tar || fail "$2, $order"
    cmp want.tar got.tar || fail "$2 differs, $order,budget=$budget"
    n_cases=$((n_cases + 1))
}

# Whatever is permuted, and whatever is asked for.
while read -r seed lanes buffer segment equal keys name; do
    budget=1G
    agrees ds "$name"
done <<EOD
 1    1        0 sample none auto 0.tar
 2   12   100000 sample none auto 3.tar
 3   12   100000 sample drop auto 3/rank-1-of-4.tar
 4   12   100000 sample pad  auto 3/rank-3-of-4.tar
 5   12    20000 512    none asis 0/rank-11-of-12.tar
 6   12    20000 1000   pad  auto 1/rank-5-of-6@40.tar
 7   24  1000000 4K     none auto 2@123.tar
 8   24  1000000 4K     drop asis 2/rank-2-of-3/worker-1-of-4.tar
 9    6    50000 64K    none auto 1/rank-1-of-2/worker-2-of-3@9.tar
10    6    50000 64K    pad  auto 5/rank-0-of-6.tar
11    6    50000 1G     none auto 5.tar
12    6    50000 shard  drop auto 5/rank-4-of-6.tar
13    4 67108864 shard  pad  auto 1/rank-3-of-4.tar
14    4 67108864 shard  pad  auto 1.tar
15  384 67108864 sample none auto 0.tar
16  384 67108864 4K     pad  asis 7/rank-5-of-8.tar
17 1000      512 64K    drop auto 7/rank-7-of-8.tar
18 1000      512 sample pad  auto 7/rank-999-of-1000.tar
19 1000      512 shard  pad  auto 7/rank-3-of-1000/worker-1-of-2.tar
20   12   100000 4K     none auto 0@470.tar
21   12   100000 4K     pad  auto 0/rank-7-of-12@99999.tar
EOD
[ $n_cases = 21 ] || fail "$n_cases cases"

# Little memory, and samples that no lane has room for.
make_shards large --shards 5 --samples 3 --bytes 3000000 --name "l-%d.tar"
make_shards large --shards 3 --samples 200 --bytes 9000 --name "s-%d.tar" --restart-keys
seed=5 lanes=12 buffer=4000000 keys=auto budget=24M
for segment in shard 1M sample; do
    equal=pad
    agrees large 0.tar
    agrees large 2/rank-2-of-3.tar
    equal=drop
    agrees large 1/rank-1-of-2@100.tar
done

# One sample; and none at all.
make_shards one --shards 1 --samples 1
make_shards none --shards 3 --samples 0
lanes=4 budget=256M
for segment in shard 1K sample; do
    for equal in none drop pad; do
        [ $segment/$equal != shard/none ] || continue
        agrees one 0.tar
        agrees none 0.tar
        head -c 1024 /dev/zero | cmp - got.tar
    done
    agrees one 0/rank-3-of-4.tar # padded
    agrees one 1/rank-3-of-4@1.tar
    head -c 1024 /dev/zero | cmp - got.tar
done
