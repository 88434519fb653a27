#!/bin/sh
# SPDX-License-Identifier: MIT
# Kept connections that have fallen silent (a server that was moved, a NAT that forgot) are
# not tried one by one: a request waits for stall-timeout once, not once for each of them.
# (A hedge may come before that.)  So over our wires and over libcurl's connections.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"

# The first answer of each shard, on some connection, is the last there.
good_shards --shards 120 --samples 4 --bytes 5000
all="train-{000000..000119}.tar"
start_origin shards
for who in us libcurl; do
    arrives -o stall-timeout=3s "$origin/stall,bytes=30000,times=1,for=$who/$all"
    ! grep -q "retry 2 in" said || fail "dead connections were tried one by one, by $who"
    : >"$HOME/.netrc"
done
