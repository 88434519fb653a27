#!/bin/sh
# SPDX-License-Identifier: MIT
# What an unmodified Tensorcom sends lies in the ring, bit for bit, in frames and in one part;
# two senders are received at once, and garbage is reported once, dropped, and ends nothing.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
requires_tensorcom

peer() {
    "$build/tests/lib/zmq-peer" "$build/zmq.so" "$@"
}

# received URL N: N batches of a receiver of ours to "got", which ends when it is told.
received() {
    mkfifo stop
    peer recv "$1" ring <stop 2>log &
    receiver=$!
    exec 9>stop
    peer consume ring "$2" >got || fail "the ring: $(cat log); $(wc -l <got) samples, the last $(tail -n 1 got)"
    exec 9>&-
    wait $receiver || fail "recv: $(cat log)"
    rm -f stop
}

tensorcom() {
    "$python" "$top/tests/lib/tensorcom-peer.py" send "$@" &
}

port=$("$python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
tensorcom "zpush://127.0.0.1:$port" 20 0 garbage
tensorcom "zpush://127.0.0.1:$port" 20 1000
received "zpull://127.0.0.1:$port" 40
{ seq 0 78; seq 1000 1078; } >wanted
sort -n got | cmp - wanted || fail "other samples"
[ "$(grep -c 'not a batch was dropped' log)" = 1 ] || fail "garbage: $(cat log)"

tensorcom "zrpush+ipc://$work/b" 20 0 single unnamed
received "zrpull+ipc://$work/b" 20
seq 0 78 | cmp - got || fail "single-part: other samples"
