#!/bin/sh
# SPDX-License-Identifier: MIT
# An epoch that was streamed leaves the indexes of its shards.  Of another epoch from its
# sample K on then only what is still to come is asked for, and no header before it; the
# bytes are the same with indexes and without.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/indexed.sh"

some_shards
total=$(cat shards/* | wc -c)
rest=$(wc -c <tail.tar)
all=$((5 * total)) # without indexes: before each cut of a shard, bytes are read twice
start_origin shards
gives tail.tar -o index-cache=no "$origin/$three" $tail
shards_asked $all
[ "$n" -gt $((rest + margin)) ] || fail "only $n bytes without an index: this test proves nothing"
"$shufflefs" cat $opts,index-cache=no,segment=random shards $tail >random.tar
gives random.tar -o index-cache=no,segment=random "$origin/$three" $tail
shards_asked $((4 * total))

gives want.tar "$origin/$three" epochs/0.tar
[ "$(n_indexes home/.cache/shufflefs)" = 3 ] || fail "not three indexes in the cache"
[ "$(stat -c %a home/.cache/shufflefs)" = 700 ] || fail "others can look into the cache"
shards_asked $all
gives tail.tar "$origin/$three" $tail
shards_asked $((rest + margin))
silent

# Where XDG_CACHE_HOME says, or index-cache=; a look-up leaves indexes too.
XDG_CACHE_HOME="$work/xdg" gives tail.tar "$origin/$three" $tail
[ "$(n_indexes xdg/shufflefs)" = 3 ] || fail "not three in XDG_CACHE_HOME"
gives tail.tar -o index-cache=mine "$origin/$three" $tail
[ "$(n_indexes mine)" = 3 ] || fail "not three in index-cache=mine"
shards_asked $((2 * all))
gives tail.tar -o index-cache=mine "$origin/$three" $tail
shards_asked $((rest + margin))

# Orders that need to know all samples know them at once.
for order in segment=64K equal=drop; do
    "$shufflefs" cat $opts,index-cache=no,$order shards epochs/3.tar >want.tar
    n_seen=$(wc -l <"origin-log.$n_origins")
    gives want.tar -o index-cache=mine,$order "$origin/$three" epochs/3.tar
    shards_asked $((total + margin))
done

# A damaged shard has none, nor has one whose damage was skipped.
rm -r home/.cache
head -c 300000 shards/$one >short
mv short shards/$one
"$shufflefs" cat $opts,on-error=skip shards epochs/0.tar >got.tar 2>said
[ "$(n_indexes home/.cache)" = 2 ] || fail "$(n_indexes home/.cache) indexes of two sound shards"
"$shufflefs" cat $opts,on-error=skip shards epochs/0.tar 2>said | cmp - got.tar
said "skip: $one"
