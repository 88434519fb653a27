#!/bin/sh
# SPDX-License-Identifier: MIT
# What comes before an error is written up to the block of 512 bytes that holds it: in a
# stream of whole shards, up to the first sample that leaves the damaged block of samples; with
# random segments, up to some sample before; in a shard, up to the byte at which its server fails.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"

small_shards

# ends_at N WHOLE [-o OPTIONS] SOURCE... PATH: an error, and before it the first N bytes.
ends_at() {
    n=$1 whole=$2
    shift 2
    cat_of "$@"
    [ $status = 1 ] || fail "exit status $status, not 1, of: $*"
    [ "$(wc -c <got.tar)" = "$n" ] || fail "$(wc -c <got.tar) bytes, not $n, of: $*"
    cmp -n "$n" "$whole" got.tar || fail "wrong bytes before the error"
}

# Blocks of one sample: the epoch ends where the damaged one would begin.
small=$quick,segment=shard,buffer=1K
"$shufflefs" cat $small whole epochs/0.tar >want.tar
"$shufflefs" cat $small whole epochs/0.order >order
n_odd=0
for key in 000040 000047 000055 000062 000079; do
    at=$(awk -F '\t' -v key=$key '$5 == key { print $2 }' order)
    [ $((at % 4096)) = 0 ] || n_odd=$((n_odd + 1))
    flip "$(byte_of $key.cls)"
    for source in shards "$origin/$three"; do
        ends_at "$at" want.tar $small "$source" epochs/0.tar
    done
    restore
done
[ $n_odd -gt 2 ] || fail "pages would have done"

# Larger blocks: all of them before the damaged one.
whole=$quick,segment=shard
"$shufflefs" cat $whole whole epochs/0.tar >want.tar
"$shufflefs" cat $whole whole epochs/0.order >order
flip "$(byte_of 000062.jpg)"
for source in shards "$origin/$three"; do
    cat_of $whole "$source" epochs/0.tar
    awk -F '\t' -v n="$(wc -c <got.tar)" '$2 == n { print $4 }' order >next
    [ "$(cat next)" = $one ] || fail "$(wc -c <got.tar) bytes, not to a sample of $one"
done
restore

# Random segments: where the damage is met when the beginning of another segment is looked for, the
# error comes there.
n_read=0
for seed in 0 1 2 3; do
    random=$quick,segment=random,buffer=1K,seed=$seed
    "$shufflefs" cat $random whole epochs/0.tar >want.tar
    "$shufflefs" cat $random whole epochs/0.order >order
    for key in 000047 000079; do
        flip "$(byte_of $key.cls)"
        ends_early want.tar $random shards
        n=$(wc -c <got.tar)
        said "read error at byte $n: $one @ $(byte_of $key.cls): "
        at=$(awk -F '\t' -v key=$key '$5 == key { print $2 }' order)
        [ "$n" -le "$at" ] || fail "an error behind the damage"
        awk -F '\t' -v n="$n" '$2 == n' order | grep -q . || fail "$n bytes, not to a sample"
        n_read=$((n_read + (n > 0)))
        restore
    done
done
[ $n_read -gt 3 ] || fail "nothing is read before the damage"

# A shard, of which the server never sends one byte.
for at in 512 5000 99839 99840 100351; do
    ends_at $((at / 512 * 512)) "whole/$one" "$origin/404,at=$at/$one" "shards/$one"
done
ends_at 99840 "whole/$one" -o read-timeout=2s "$origin/cut,at=100000/$one" "shards/$one"
