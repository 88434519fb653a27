#!/bin/sh
# SPDX-License-Identifier: MIT
# The streams of ranks and workers, whole or from a sample on, are byte for byte what the
# script computes; the ranks' are a partition of the epoch, and the workers' of their rank.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"

make_shards ds --shards 13 --samples 40 --bytes 700 --restart-keys --odd --name "a-%02d.tar"
make_shards ds --shards 1 --samples 300 --bytes 100 --restart-keys --name "long.tar"
make_shards ds --shards 1 --samples 0 --name "empty.tar"
make_shards ds --shards 1 --samples 1 --bytes 200000 --name "one.tar"

# agrees NAME: with the script.
agrees() {
    "$python" "$top/scripts/order.py" stream ds "$1" --seed $seed --lanes $lanes \
        --buffer $buffer --segment $segment --keys $keys >want.tar
    "$shufflefs" cat -o seed=$seed,lanes=$lanes,buffer=$buffer,segment=$segment,keys=$keys ds \
        "epochs/$1" >got.tar || fail "$1"
    same want.tar got.tar
}

# keys_of NAME: of its samples, as SHARD and KEY.
keys_of() {
    "$python" "$top/scripts/order.py" list ds "$1" --seed $seed --lanes $lanes \
        --buffer $buffer --segment $segment | cut -f4-
}

# parts of the stream $1: $2 $3 ... hold its samples, each once.
partition() {
    keys_of "$1" | sort >whole
    shift
    for part; do keys_of "$part"; done | sort >parts
    [ -s whole ] || fail "$1 has no samples"
    same whole parts
}

for segment in shard random; do
    seed=5 lanes=12 buffer=100000 keys=auto
    for r in 0 1 2; do
        agrees 4/rank-$r-of-3.tar
        agrees 4/rank-$r-of-3@57.tar
    done
    partition 4.tar 4/rank-0-of-3.tar 4/rank-1-of-3.tar 4/rank-2-of-3.tar
    for i in 0 1 2 3 4; do # the rank has four lanes: one worker has none
        agrees 4/rank-1-of-3/worker-$i-of-5.tar
    done
    partition 4/rank-1-of-3.tar 4/rank-1-of-3/worker-0-of-3.tar \
        4/rank-1-of-3/worker-1-of-3.tar 4/rank-1-of-3/worker-2-of-3.tar
    agrees 4/rank-11-of-12/worker-0-of-1@3.tar

    # A worker without a lane has a valid, empty tar; so has one that begins at the end.
    "$shufflefs" cat -o lanes=12,segment=$segment ds epochs/4/rank-1-of-3/worker-4-of-5.tar >got.tar
    head -c 1024 /dev/zero | cmp - got.tar
    n=$(keys_of 4.tar | wc -l)
    for k in $n $((n + 1)) 9000000000000000000; do
        agrees 4@$k.tar
        head -c 1024 /dev/zero | cmp - got.tar
    done

    # More lanes than shards.
    seed=1 lanes=384 buffer=67108864 keys=asis
    for k in 0 1 16 17 100 $((n - 1)); do
        agrees 0@$k.tar
    done
    agrees 0/rank-7-of-8.tar
    agrees 0/rank-15-of-16.tar
done

# All tails of a small stream, as the stream itself has them.
rm -r ds
make_shards ds --shards 3 --samples 7 --bytes 300 --restart-keys
for segment in shard random; do
    seed=2 lanes=2 buffer=2000 keys=auto
    "$shufflefs" cat -o seed=2,lanes=2,buffer=2000,segment=$segment ds epochs/1.tar >whole.tar
    "$python" "$top/scripts/order.py" list ds 1.tar --seed 2 --lanes 2 --buffer 2000 --segment $segment >list
    end=$(stat -c %s whole.tar)
    while read -r number offset rest; do
        "$shufflefs" cat -o seed=2,lanes=2,buffer=2000,segment=$segment ds epochs/1@$number.tar >tail.tar
        size=$(stat -c %s tail.tar)
        [ "$size" -gt 1024 ] || fail "@$number is empty"
        tail -c +$((offset + 1)) whole.tar | head -c $((size - 1024)) >want.tar
        head -c $((size - 1024)) tail.tar >got.tar
        same want.tar got.tar
        tail -c 1024 tail.tar | cmp - /dev/zero 2>&1 | grep -q "EOF on -" || fail "no zeros"
        [ $((offset + size)) -le "$end" ] || fail "@$number is too long"
    done <list
    [ "$(wc -l <list)" -eq 21 ] || fail "$(cat list)"
done

# Tables of whole shards that a quarter of the budget has no room for: an error that says so, not
# a wait without an end; and with more budget they are found.
make_dense 40 12000
# fits PATH BUDGET [OPTION]: whether it does, and its end.
fits() {
    status=0
    timeout $patience "$shufflefs" cat -o "budget=$2,lanes=40,buffer=1M${3+,$3}" dense "epochs/$1" >got.tar 2>said ||
        status=$?
    [ $status -lt 124 ] || fail "it never ends, or died: $status"
    [ $status = 0 ] || grep -q "do not fit a quarter of the budget" said || fail "$(cat said)"
    return $status
}
large=$((240000 * 512 + 1024))
if fits 0@240000.tar 24M segment=shard,index-cache=no; then fail "it fits"; fi
fits 0@240000.tar 64M segment=shard || fail "with a larger budget"
[ "$(stat -c %s got.tar)" = $large ] || fail "wrong samples with a larger budget"
cp got.tar want.tar

# That has left indexes: they make it quick, but take as much memory as tables.
fits 0@240000.tar 64M segment=shard || fail "with indexes"
same want.tar got.tar
if fits 0@240000.tar 24M segment=shard; then fail "it fits, with indexes"; fi
# (It may have begun before it lost a table that it needs.)
cmp -n "$(stat -c %s got.tar)" got.tar want.tar

# By default, too: right or such an error, with indexes and without.
fits 0@240000.tar 64M || fail "by default, with a larger budget"
[ "$(stat -c %s got.tar)" = $large ] || fail "wrong samples by default"
cp got.tar want.tar
for cache in index-cache=no index-cache=home/.cache/shufflefs; do
    if fits 0@240000.tar 24M $cache; then same want.tar got.tar; fi
    cmp -n "$(stat -c %s got.tar)" got.tar want.tar
done
