#!/bin/sh
# SPDX-License-Identifier: MIT
# While a trainer holds on to its batch and all others wait, their statistics say so: recv waits for
# the trainer all of the time, send for its transport; and send for its reader, if that has nothing.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
sidecar=$build/shufflefs-sidecar

make_labels 0.tar 200
all='\(9[5-9]\|100\) %'

"$sidecar" recv tcp://127.0.0.1:0 --ring ring --stats 1 2>log &
receiver=$!
until url=$(sed -n "s/.*senders on //p" log) && [ "$url" ]; do sleep 0.01; done
"$sidecar" send 0.tar "$url" --fields cls --batch 4 --stats 1 2>send.log &
sender=$!
wait_until 60 test -S ring
"$build/tests/lib/ring-drain" ring held >got 2>error &
drain=$!
wait_until 60 grep -q "recv: streaming, 4 batches, 0 samples/s, .* waits for trainer $all" log
wait_until 60 grep -q "send: .* reader 0 %, decoder 0 %, transport $all" send.log
touch held
wait $drain || fail "the trainer: $(cat error)"
wait $sender || fail "send: $(cat send.log)"
wait $receiver || fail "recv: $(cat log)"
tail -n 1 log | grep -q "recv: done, 50 batches" || fail "recv: $(cat log)"

mkfifo more
"$sidecar" send more local:ring --fields cls --batch 4 --stats 1 2>send.log &
sender=$!
exec 8>more
wait_until 60 grep -q "send: .* reader $all, decoder 0 %" send.log
kill $sender
exec 8>&-
