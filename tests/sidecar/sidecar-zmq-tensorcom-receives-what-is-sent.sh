#!/bin/sh
# SPDX-License-Identifier: MIT
# An unmodified Tensorcom receives every batch, bit for bit: pushed and published, from
# the end that binds and from the other, over TCP and IPC, in frames and in one part; three
# subscribers each get all, one receiver gets those of two senders, and its tools run.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
requires_tensorcom

peer() {
    "$build/tests/lib/zmq-peer" "$build/zmq.so" "$@"
}

tensorcom() {
    "$python" "$top/tests/lib/tensorcom-peer.py" "$@"
}

# both OURS THEIRS [single]: 20 batches, of which the last is short.
both() {
    tensorcom recv "$2" 20 ${3:-} >got &
    receiver=$!
    peer send "$1" 20 0 || fail "$1 does not send"
    wait $receiver || fail "$2 does not receive"
    seq 0 78 | cmp - got || fail "$1 to $2: other samples"
}

port=$("$python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
both "zpush://127.0.0.1:$port" "zpull://127.0.0.1:$port"
both "zpub+ipc://$work/b#topic" "zsub+ipc://$work/b"
both "zrpush+ipc://$work/c" "zrpull+ipc://$work/c"
both "zrpub+ipc://$work/d" "zrsub+ipc://$work/d"
both "zpush+ipc://$work/e?single" "zpull+ipc://$work/e" single

# Nothing is published before all three are there, and nothing is lost then.
for i in 1 2 3; do
    tensorcom recv "zsub+ipc://$work/three" 50 >got.$i &
done
peer send "zpub+ipc://$work/three?wait=3" 50 0
jobs -p >pids
while read -r pid; do wait "$pid" || fail "a subscriber failed"; done <pids
for i in 1 2 3; do
    seq 0 198 | cmp - got.$i || fail "subscriber $i got others"
done

# Two senders, one receiver.
tensorcom recv "zpull+ipc://$work/two" 20 >got &
receiver=$!
peer send "zpush+ipc://$work/two" 10 0 &
peer send "zpush+ipc://$work/two" 10 1000
wait $receiver || fail "the receiver of two failed"
{ seq 0 38; seq 1000 1038; } >wanted
sort -n got | cmp - wanted || fail "two senders: other samples"

tools=$(dirname "$python")
"$python" "$tools/tensorstat" -c 9 "zsub+ipc://$work/f" >stat &
receiver=$!
peer send "zpub+ipc://$work/f" 12 0
wait $receiver || fail "tensorstat failed"
grep -q "('uint8', 4, 5, 3)" stat || fail "tensorstat saw $(cat stat)"
"$python" "$tools/tensormon" -r 4 -c 9 "zsub+ipc://$work/g" >mon &
receiver=$!
peer send "zpub+ipc://$work/g" 12 0
wait $receiver || fail "tensormon failed"
grep -q '(batchsize: 4)' mon || fail "tensormon saw $(cat mon)"

# What Tensorcom cannot read is refused before anything is sent.
for dtype in u4 b1 bf2; do
    peer refuse "zpush+ipc://$work/x" $dtype | grep -q "^cls: Tensorcom has no dtype '$dtype'" ||
        fail "$dtype is sent"
done
peer refuse "zpush+sctp://x" i4 | grep -q "neither +tcp nor +ipc" || fail "sctp"
