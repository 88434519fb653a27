#!/bin/sh
# SPDX-License-Identifier: MIT
# No command waits for longer than read-timeout for a server that has fallen silent, however
# patient it is with each request; it says which shard it waited for, and where.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/late.sh"

make_shards shards --bytes 20000 --samples 20 --shards 3
start_origin shards
list="train-{000000..000002}.tar"
bytes="$origin/stall,over=600/$list"
sizes="$origin/stall/$list"
one_size="$origin/stall,only=*1.tar/$list"
mkdir to mnt

ends_late "$shufflefs" cat $soon -o stall-timeout=10m "$bytes" epochs/0.tar
ends_late "$shufflefs" cat $soon -o stall-timeout=10m "$bytes" shards/train-000001.tar
ends_late "$shufflefs" cat $soon -o stall-timeout=10m "$bytes" samples/train-000001.tar/000020.jpg
ends_late "$shufflefs" cat $soon -o stall-timeout=10m,segment=sample "$bytes" epochs/0.tar
ends_late "$shufflefs" plan $soon -o stall-timeout=10m "$bytes"
ends_late "$shufflefs" index $soon -o stall-timeout=10m --to=to "$bytes"
ends_late "$shufflefs" bench $soon -o stall-timeout=10m --stages=source "$bytes"
ends_late "$shufflefs" bench $soon -o stall-timeout=10m --stages=order "$bytes"
ends_late "$shufflefs" cat $soon -o stall-timeout=10m "$one_size" epochs/0.tar
ends_late "$shufflefs" plan $soon -o stall-timeout=10m "$one_size"
ends_late "$shufflefs" index $soon -o stall-timeout=10m --to=to "$one_size"
ends_late "$shufflefs" cat $soon -o stall-timeout=10m "$sizes" epochs/0.tar
ends_late "$shufflefs" mount $soon -o stall-timeout=10m "$sizes" mnt
ends_late "$shufflefs" mount $soon -o stall-timeout=10m,expect-order=0123456789abcdef "$one_size" mnt
all_ended
grep -q "train-00000[0-2].tar @ [0-9]*: timed out after 3 s (read-timeout) waiting for bytes from $origin" said.1 ||
    fail "the shard is not named: $(cat said.1)"
grep -q "waiting for .*the size.* from $origin\|waiting for all sizes, this one from $origin" said.9 said.10 ||
    fail "the size is not named: $(cat said.9)"

# Slow is not silent: what comes now and then is waited for.
"$shufflefs" cat -o read-timeout=5s,lanes=2,buffer=64K "$origin/late,ms=300/$list" epochs/0.tar >got
"$shufflefs" cat -o lanes=2,buffer=64K shards epochs/0.tar >want
same got want
