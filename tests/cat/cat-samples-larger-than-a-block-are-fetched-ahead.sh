#!/bin/sh
# SPDX-License-Identifier: MIT
# A lane whose next sample is larger than a block has that sample ahead, too, and a reader
# does not wait for each of them.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"

# ahead ORDER MS LEAST: a server answers after MS, at least so many requests, and the epoch is the
# local one.
ahead() {
    "$shufflefs" cat -o "$1" data epochs/0.tar >want
    "$shufflefs" cat -o "$1" "$origin/late,ms=$2,over=1000/train-{000000..000047}.tar" epochs/0.tar >got
    same want got
    asked_side_by_side "$3"
}

make_alike 48 --samples 3 --bytes 1500000
start_origin data
ahead segment=shard,lanes=48,buffer=1M,budget=300M,connections=4 100 150

# By default, where they are smaller than segments: those need many requests of their own.
rm -r data
make_alike 48 --samples 30 --bytes 30000
start_origin data
ahead lanes=48,buffer=256K,budget=300M,connections=4 20 100
