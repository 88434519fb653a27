#!/bin/sh
# SPDX-License-Identifier: MIT
# A lane whose next sample is larger than a block has that sample ahead, too, and a reader
# does not wait for each of them.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"

order=lanes=48,buffer=1M,budget=300M,connections=4
make_alike 48 --samples 3 --bytes 1500000
start_origin data
"$shufflefs" cat -o $order data epochs/0.tar >want
"$shufflefs" cat -o $order "$origin/late,ms=100,over=1000/train-{000000..000047}.tar" \
    epochs/0.tar >got
same want got
asked_side_by_side 150
