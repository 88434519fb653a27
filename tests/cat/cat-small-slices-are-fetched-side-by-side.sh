#!/bin/sh
# SPDX-License-Identifier: MIT
# Slices of a shard that are far smaller than the slabs that they lie in do not fill a near
# stream: then it would ask for one after the other.  Nor do single samples.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"

make_alike 64 --samples 100 --bytes 10000
check() { # options, requests at least
    "$shufflefs" cat -o "$1" data epochs/0.tar >want
    start_nginx data
    "$shufflefs" cat -o "$1" "$nginx/train-{000000..000063}.tar" epochs/0.tar >got
    same want got
    asked_side_by_side "$2"
}
check segment=16K,lanes=64,buffer=4M,budget=1G 3000
check segment=sample,budget=1G 1000
