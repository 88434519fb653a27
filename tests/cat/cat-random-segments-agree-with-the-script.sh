#!/bin/sh
# SPDX-License-Identifier: MIT
# With random segments, dealt or in equal lanes, streams are byte for byte what the script
# computes: of ranks and workers, from any sample on, with members as large as segments,
# with much memory and with little; and so are their order as text and their identity.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"

# 20 MB, so a cut every 64 KiB; keys that restart, and samples that are longer than that.
make_shards ds --shards 3 --samples 40 --bytes 100000 --restart-keys --odd --name "a-%02d.tar"
make_shards ds --shards 2 --samples 0 --name "empty-%d.tar"
make_shards ds --shards 1 --samples 1 --bytes 5000000 --format pax --name "long.tar"
make_shards ds --shards 1 --samples 900 --bytes 900 --restart-keys --format gnu --name "z.tar"

# agrees FOLDER EPOCH-OR-PART: with the script, as `lanes`, `equal`, ... say.
n_cases=0
agrees() {
    order="seed=$seed,lanes=$lanes,buffer=$buffer,segment=random,equal=$equal,keys=$keys"
    set -- "$1" "$2" --seed $seed --lanes $lanes --buffer $buffer --segment random --equal $equal --keys $keys
    "$python" "$top/scripts/order.py" stream "$@" >want.tar
    "$shufflefs" cat -o "$order,budget=$budget" "$1" "epochs/$2" >got.tar || fail "$2, $order"
    cmp want.tar got.tar || fail "$2 differs, $order,budget=$budget"
    n_cases=$((n_cases + 1))
}

while read -r seed lanes buffer equal keys budget name; do
    agrees ds "$name"
done <<EOD
 1    1        0 none auto 1G   0.tar
 2    3   100000 none auto 1G   1.tar
 2    3   100000 none auto 1G   2.tar
 3   12  1000000 none auto 1G   3/rank-1-of-4.tar
 3   12  1000000 none auto 1G   3/rank-3-of-4/worker-2-of-3.tar
 4   12  1000000 none asis 1G   7@500.tar
 5    4 20000000 none auto 1G   0/rank-1-of-2@77.tar
 6  384 67108864 none auto 1G   0.tar
 7  384 67108864 none auto 1G   9@99999.tar
 8   12  4000000 none auto 24M  4.tar
 8   12  4000000 none auto 24M  4/rank-0-of-3@40.tar
 9   12  1000000 drop auto 1G   1/rank-2-of-4.tar
10   12  1000000 pad  auto 24M  1/rank-3-of-4@100.tar
11    6   300000 pad  asis 1G   5.tar
12 65536 2000000 none auto 400M 6.tar
12 65536 2000000 none auto 400M 6/rank-20-of-64.tar
EOD
[ $n_cases = 16 ] || fail "$n_cases cases"

# Shards that are shorter than what is read before a cut, some of them cut behind their last
# sample.
make_shards short --shards 40 --samples 2 --bytes 20000
seed=1 lanes=12 buffer=1000 equal=none keys=auto budget=256M
for name in 0 1 2 2/rank-2-of-4/worker-1-of-2; do
    agrees short $name.tar
done

# Where the first sample of a stretch is looked for in more bytes than a range may have.
make_shards large --shards 1 --samples 8 --bytes 4000000
for name in 0/rank-0-of-4@1 0/rank-1-of-4@1; do
    agrees large $name.tar
done

# As text; and another identity than that of whole shards.
set -- --seed 3 --lanes 12 --segment random
"$python" "$top/scripts/order.py" list ds 2/rank-1-of-3.tar "$@" >want.txt
"$shufflefs" cat -o seed=3,lanes=12,segment=random ds epochs/2/rank-1-of-3.order >got.txt
cmp want.txt got.txt
"$shufflefs" cat -o "seed=3,lanes=12,segment=random,expect-order=$(
    "$python" "$top/scripts/order.py" identity ds "$@")" ds epochs/2.order >got.txt
! "$shufflefs" cat -o "seed=3,lanes=12,expect-order=$(
    "$python" "$top/scripts/order.py" identity ds "$@")" ds epochs/2.order 2>said >got.txt ||
    fail "whole shards have the same identity"

# A dataset without samples, and one that is cut once only: it is turned.
make_shards one --shards 1 --samples 1
make_shards none --shards 3 --samples 0
seed=5 lanes=4 buffer=67108864 keys=auto budget=256M
for equal in none pad; do
    agrees one 0.tar
    agrees none 0.tar
done
equal=none
agrees one 3/rank-0-of-4.tar
make_shards few --shards 1 --samples 7 --bytes 5000
for epoch in 0 1 2 3; do
    agrees few $epoch.tar
    tar xOf got.tar | cksum
done | sort -u | wc -l >n
[ "$(cat n)" -gt 1 ] || fail "each epoch is the same"
! "$shufflefs" cat -o lanes=4,segment=random few epochs/0/rank-1-of-4.tar 2>said >got.tar ||
    fail "rank 1 has a segment"
grep -q "no segment for rank 1 of 4: there is only 1; use 1 rank at most" said || fail "$(cat said)"

# Each epoch is cut elsewhere, so damage is an error of all of them.
head -c 900000 ds/a-01.tar >cut.tar
mv cut.tar ds/a-01.tar
for name in 0 1/rank-0-of-12; do
    ! "$shufflefs" cat -o lanes=12,segment=random ds epochs/$name.tar >got.tar 2>said ||
        fail "$name has all samples"
    grep -q "a-01.tar" said || fail "$(cat said)"
done
"$python" "$top/scripts/order.py" stream ds 1.tar --lanes 12 --segment random --on-error skip >want.tar
"$shufflefs" cat -o lanes=12,segment=random,on-error=skip ds epochs/1.tar >got.tar
cmp want.tar got.tar
