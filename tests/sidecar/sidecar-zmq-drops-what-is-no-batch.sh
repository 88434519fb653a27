#!/bin/sh
# SPDX-License-Identifier: MIT
# Over ZeroMQ a batch of another layout than the first, from whoever sends it, is dropped, and ends
# nothing: the others come all the same.  Where nothing but such batches come, recv ends after
# --give-up, and says why they were dropped; where a trainer dies, it ends at once.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
sidecar=$build/shufflefs-sidecar
export SHUFFLEFS_PLUGINS="$build"
[ -e "$build/zmq.so" ] || skip "there is no plug-in for ZeroMQ"

make_labels 0.tar 40

# recv OPTION...: a ring at $url, with the layout of a first stream.
recv() {
    rm -f log got
    url=zpush+ipc://$work/z
    "$sidecar" recv "zpull+ipc://$work/z" --ring ring "$@" 2>log &
    receiver=$!
    send cls
    wait_until 60 test -S ring
    "$build/tests/lib/ring-drain" ring $held >got 2>error &
    drain=$!
}
send() {
    "$sidecar" send 0.tar "$url" --fields "$1" --batch 8 2>send.log || fail "send: $(cat send.log)"
}
has() {
    [ "$(grep -c "^row" got)" -ge "$1" ]
}

held=
recv
wait_until 60 has 40
send cls:i8
send cls
wait_until 60 has 80
kill $receiver
wait $receiver || fail "recv: $(cat log)"
wait $drain
[ "$(grep -c "^row" got)" = 80 ] || fail "wrong samples: $(cat got)"
[ "$(grep -c "not a batch was dropped: cls: a batch came with another dtype" log)" = 1 ] || fail "recv: $(cat log)"

recv --give-up 10
wait_until 60 has 40
send cls:i8
! wait $receiver || fail "recv ended well"
grep -q "no batch came for 10 s; 5 messages were dropped, the last because of: cls: a batch came" log || fail "recv: $(cat log)"
wait $drain || :

held=held
recv
wait_until 60 has 1
kill -9 $drain
! wait $receiver || fail "recv ended well"
grep -q "died while it held batch 0" log || fail "recv: $(cat log)"
