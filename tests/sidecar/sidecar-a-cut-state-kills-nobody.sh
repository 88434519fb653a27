#!/bin/sh
# SPDX-License-Identifier: MIT
# Who truncates the file of a ring's state, to nothing or to a part, or overwrites it, kills neither
# producer nor trainers: all of them end with an error that names the file.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
sidecar=$build/shufflefs-sidecar

make_labels 0.tar 200

# breaks COMMAND...: a trainer has what there is, and waits for more.
breaks() {
    mkfifo more
    "$sidecar" send more "$target" --fields cls --batch 8 2>send.log &
    sender=$!
    exec 8>more
    head -c 40960 0.tar >&8 # (40 samples)
    wait_until 60 test -S ring
    "$build/tests/lib/ring-drain" ring >got 2>error &
    drain=$!
    wait_until 60 grep -q "^row" got
    "$@"
    status=0
    wait $drain || status=$?
    [ $status = 1 ] || fail "$*: the trainer: status $status: $(cat error)"
    grep -q "ring.state was truncated or overwritten" error || fail "$*: the trainer: $(cat error)"
    status=0
    wait $sender || status=$?
    [ $status = 1 ] || fail "$*: send: status $status: $(cat send.log)"
    grep -q "ring.state was truncated or overwritten" send.log || fail "$*: send: $(cat send.log)"
    exec 8>&-
    rm -f more got ring.state
}

target=local:ring
breaks truncate -s 0 ring.state
breaks truncate -s 4096 ring.state
breaks sh -c 'truncate -s 0 ring.state; truncate -s 32768 ring.state'

"$sidecar" recv tcp://127.0.0.1:0 --ring ring 2>log &
receiver=$!
until target=$(sed -n "s/.*senders on //p" log) && [ "$target" ]; do sleep 0.01; done
breaks truncate -s 100 ring.state
status=0
wait $receiver || status=$?
[ $status = 1 ] || fail "recv: status $status: $(cat log)"
