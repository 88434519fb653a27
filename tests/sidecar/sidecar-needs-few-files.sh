#!/bin/sh
# SPDX-License-Identifier: MIT
# Where few files may be open at a time, send and recv work with as many trainers as there are
# descriptors for, and end when they are told to; where too few may be, they say so and do not
# begin.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
sidecar=$build/shufflefs-sidecar

make_labels 0.tar 40
for command in "recv tcp://127.0.0.1:0 --ring ring" "send 0.tar local:ring --fields cls" "send 0.tar samples:ring"; do
    status=0
    (ulimit -n 8 && exec timeout $patience "$sidecar" $command) 2>said || status=$?
    [ $status = 1 ] || fail "$command: status $status: $(cat said)"
    grep -q "the limit of open files is 8, but at least 64 are needed" said || fail "$command: $(cat said)"
done

(ulimit -n 64 && exec timeout $patience "$sidecar" send 0.tar local:ring --fields cls --batch 8) 2>said &
sender=$!
"$build/tests/lib/ring-drain" ring >got 2>error || fail "the trainer: $(cat error said)"
wait $sender || fail "send: $(cat said)"
[ "$(grep -c "^row" got)" = 40 ] || fail "wrong samples: $(cat got)"

(ulimit -n 64 && exec "$sidecar" send 0.tar samples:ring) 2>said &
sender=$!
wait_until 60 test -S ring
kill $sender
wait_until 60 is_gone $sender

(ulimit -n 64 && exec "$sidecar" recv tcp://127.0.0.1:0 --ring ring) 2>said &
receiver=$!
wait_until 60 grep -q "senders on" said
kill $receiver
wait_until 60 is_gone $receiver
grep -q "stopped by a signal" said || fail "recv: $(cat said)"
