#!/bin/sh
# SPDX-License-Identifier: MIT
# A server that goes away in the middle of an epoch, and comes back later than any number of
# retries would take, costs time and nothing else.  An outage is reported in one line, and its
# end in another, however many requests it concerns.  (Responses that were under way may come
# after the first failures, so there may be a retry or two before it.)
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"

# Much more than is held at a time, so that there is something left to ask for.
make_alike 12 --samples 30 --bytes 100000
opts="-o retries=0,lanes=2,buffer=64K,budget=10M,connect-timeout=60s,stall-timeout=60s"
"$shufflefs" cat $opts data epochs/0.tar >want.tar

# reported N WORDS: N times.
reported() {
    n=$(grep -c -e "$2" said) || true
    [ "$n" = "$1" ] || fail "'$2' $n times in: $(cat said)"
}

# recovers: the rest is the right one.
recovers() {
    finish 0
    same want.tar got.tar
}

# read_on: as much as is held already, so that the reader waits for the server.
read_on() {
    cat <&3 >>got.tar &
    reader=$!
}

start_origin data
begin "$origin/train-{000000..000011}.tar"
kill "$origin_pid"
wait "$origin_pid" 2>/dev/null || true
read_on
wait_until 60 grep -q "outage: $origin: .*, retrying; [0-9]* requests\{0,1\} wait" said
sleep 5
port=${origin##*:}
start_origin data "$port"
wait $reader
recovers
reported 1 "outage: .*onnect"
reported 1 "outage: $origin: responds again after [0-9]* s"
[ "$(grep -c "retry: " said)" -le 3 ] || fail "too much was said: $(cat said)"

# The same if it only answers with errors, or breaks all connections.
for fault in 503 rst; do
    begin "$origin/$fault,while=ill,over=1000/train-{000000..000011}.tar"
    touch data/ill
    read_on
    wait_until 60 grep -q "outage: $origin: .*, retrying; [0-9]* requests\{0,1\} wait" said
    sleep 2
    rm data/ill
    wait $reader
    recovers
    reported 1 "outage: .*retrying"
    reported 1 "outage: $origin: responds again after [0-9]* s"
    [ "$(grep -c "retry: " said)" -le 3 ] || fail "too much was said: $(cat said)"
done
