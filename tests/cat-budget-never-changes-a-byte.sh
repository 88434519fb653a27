#!/bin/sh
# SPDX-License-Identifier: MIT
# The bytes of an epoch do not depend on memory, connections or threads; and memory
# stays within the budget plus 64 MiB.
. "${srcdir:-$(dirname "$0")/..}/tests/functions.sh"

make_shards data --shards 60 --samples 40 --bytes 30000 --restart-keys --odd --format webdataset
order="seed=9,lanes=48,buffer=3M"
"$shufflefs" cat -o $order data epochs/1.tar >wanted.tar
for how in budget=22M budget=30M,connections=1 budget=64M,connections=3 budget=1G,connections=64; do
    "$shufflefs" cat -o $order,$how data epochs/1.tar >got.tar || fail "$how"
    same wanted.tar got.tar
done

# A buffer much larger than the budget: samples are fetched one by one, when due.
order="lanes=4,buffer=1G"
"$shufflefs" cat -o $order,budget=4G data epochs/1.tar >wanted.tar
"$shufflefs" cat -o $order,budget=16M data epochs/1.tar >got.tar
same wanted.tar got.tar
