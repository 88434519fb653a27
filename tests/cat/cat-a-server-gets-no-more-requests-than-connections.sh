#!/bin/sh
# SPDX-License-Identifier: MIT
# A server that answers none of them has as many requests for parts as `connections` says,
# and no more, though many lanes want bytes.  (More than 8, if it is far.)
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"

# n_parts N: how many requests for parts there were with connections=N.
n_parts() {
    grep "round=$1/" "origin-log.$n_origins" | grep -vc '"bytes=0-5.."'
}
has_parts() {
    [ "$(n_parts "$1")" -ge "$1" ]
}

make_alike 32 --samples 40 --bytes 20000
start_origin data
# (Without the limit none of them is late.)
options=lanes=32,buffer=1M,low-speed-limit=0
"$shufflefs" cat -o $options data epochs/0.tar >want
for n in 1 4 8; do
    touch data/held
    "$shufflefs" cat -o $options,connections=$n \
        "$origin/held,over=1000,while=held,round=$n/train-{000000..000031}.tar" epochs/0.tar >got &
    reader=$!
    wait_until 30 has_parts $n
    sleep 0.5 # one more would come
    at_once=$(n_parts $n)
    [ "$at_once" = "$n" ] ||
        fail "$at_once requests at a time, connections=$n: $(grep "round=$n/" "origin-log.$n_origins")"
    rm data/held
    wait $reader || fail "the reader"
    same want got
done
