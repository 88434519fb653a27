#!/bin/sh
# SPDX-License-Identifier: MIT
# Shards of one size run dry at one time.  Their lanes are asked for at one time, too, and
# not one after the other, each when a reader waits for it.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"

# Some parts a lane, and far more lanes than connections.
order=lanes=64,buffer=1M,budget=200M,connections=4
make_alike 64 --samples 150 --bytes 20000
start_origin data
"$shufflefs" cat -o $order data epochs/0.tar >want
"$shufflefs" cat -o $order,retries=1000 "$origin/late,ms=100,over=1000/train-{000000..000063}.tar" \
    epochs/0.tar >got
same want got
asked_side_by_side 200
