#!/bin/sh
# SPDX-License-Identifier: MIT
# Slices of a shard that are far smaller than the slabs that they lie in do not fill a near
# stream: then it would ask for one after the other.
. "${srcdir:-$(dirname "$0")/..}/tests/functions.sh"

slices=segment=16K,lanes=64,buffer=4M,budget=1G
make_alike 64 --samples 100 --bytes 10000
start_nginx data
"$shufflefs" cat -o $slices data epochs/0.tar >want
"$shufflefs" cat -o $slices "$nginx/train-{000000..000063}.tar" epochs/0.tar >got
same want got
asked_side_by_side 3000 1000
