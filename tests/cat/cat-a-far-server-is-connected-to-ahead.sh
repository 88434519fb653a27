#!/bin/sh
# SPDX-License-Identifier: MIT
# While a far server is asked for sizes, as many connections to it are made as `connections`
# says, because a stream will need them; but none to a near one, and none for what is no
# stream.  So also over TLS.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"
[ "$(id -u)" = 0 ] && [ -z "${TEST_TOGETHER:-}" ] || skip "needs a network of its own"

# n_opened: how many connections were begun in this network, ever.
n_opened() {
    awk '$1 == "Tcp:" && $6 ~ /[0-9]/ { print $6 }' /proc/net/snmp
}
opened() {
    [ $(($(n_opened) - before)) -ge "$1" ]
}

# begins N OPTIONS PATH WANT: cat of a far server opens N connections, and no more; then the
# server answers, and all is well.
begins() {
    touch shards/far
    start_origin shards 0 far.py
    before=$(n_opened)
    "$shufflefs" cat $quick -o "$2" "$origin/$three" "$3" >got 2>said &
    reader=$!
    wait_until 30 opened "$1"
    sleep 0.5 # more would come
    n=$(($(n_opened) - before))
    [ "$n" = "$1" ] || fail "$n connections, not $1: $2 $3"
    rm shards/far
    wait $reader || fail "the reader: $(cat said)"
    ! grep -q "retry\|outage" said || fail "$(cat said)"
    same "$4" got
}

good_shards --samples 100
for tls in "" yes; do
    [ -z "$tls" ] || speaks_tls
    begins 40 connections=40 epochs/0.tar want.tar
    begins 3 connections=2 epochs/0.tar want.tar
    begins 3 connections=40 shards/train-000001.tar shards/train-000001.tar
    start_origin shards
    before=$(n_opened)
    arrives -o connections=40 "$origin/$three"
    ! opened 30 || fail "$(($(n_opened) - before)) connections to a near server"
done
