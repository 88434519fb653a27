#!/bin/sh
# SPDX-License-Identifier: MIT
# Over ZeroMQ, too: recv binds beyond loopback only with --secret-file or --insecure; with a secret
# (CURVE) batches come, whoever binds, from those who have it; others are a line and a count, and
# bring nothing.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
sidecar=$build/shufflefs-sidecar
export SHUFFLEFS_PLUGINS="$build"
[ -e "$build/zmq.so" ] || skip "there is no plug-in for ZeroMQ"

make_labels 0.tar 30
umask 077
echo "a secret that both ends have" >secret
echo "a secret that the others have" >other
seq 0 29 >wanted
port=$("$python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')

for at in "zpull://*:$port" "zpull+tcp://0.0.0.0:$port" "zrsub://0.0.0.0:$port"; do
    if timeout "$patience" "$sidecar" recv "$at" --ring ring 2>said; then fail "$at: it listens"; fi
    grep -q "anyone who can reach this address could feed the trainer: add --secret-file" said || fail "$(cat said)"
    [ "$(wc -l <said)" = 1 ] || fail "not one line: $(cat said)"
done

# receive SOURCE OPTION...: process $receiver.
receive() {
    rm -f ring log m.prom
    : >got # (the rows of the one before)
    "$sidecar" recv "$@" --ring ring --metrics m.prom 2>log &
    receiver=$!
    until grep -qs "waiting for senders" log; do
        kill -0 $receiver 2>/dev/null || fail "recv $1: $(cat log)"
        sleep 0.01
    done
}

# send TARGET OPTION...
send() {
    "$sidecar" send 0.tar "$@" --fields cls --batch 10
}

# has_rows N
has_rows() {
    [ "$(grep -c "^row" got)" -ge "$1" ]
}

# carries TARGET SOURCE: with the secret.
carries() {
    receive "$2" --secret-file secret
    send "$1" --secret-file secret 2>send.log &
    sender=$!
    wait_until 60 test -S ring
    "$build/tests/lib/ring-drain" ring >got &
    drain=$!
    wait $sender || fail "send $1: $(cat send.log)"
    wait_until 60 has_rows 30
    kill $receiver # (Tensorcom has no end but this)
    wait $receiver || fail "recv $2: $(cat log)"
    wait $drain
    sed -n 's/^row //p' got | sort -n | cmp - wanted || fail "$1 to $2: wrong samples"
}

carries "zpush://127.0.0.1:$port" "zpull://*:$port"
carries "zpub+ipc://$work/b?wait=1" "zsub+ipc://$work/b"
carries "zrpush://127.0.0.1:$port" "zrpull://127.0.0.1:$port"

# refused_is N: so many connections were refused.
refused_is() {
    n=$(sed -n 's/^shufflefs_sidecar_refused_connections_total{.*} //p' m.prom)
    [ "${n:-0}" -ge "$1" ]
}

receive "zpull://127.0.0.1:$port" --secret-file secret
if send "zpush://127.0.0.1:$port" --give-up 2 2>send.log; then fail "a sender without a secret got in"; fi
grep -q "one end has a secret and the other has none\|it has another secret, or none" send.log || fail "$(cat send.log)"
wait_until 60 refused_is 1
grep -q "one end has a secret and the other has none\|it has another secret, or none" log || fail "$(cat log)"
if send "zpush://127.0.0.1:$port" --secret-file other --give-up 1 2>send.log; then fail "another secret got in"; fi
grep -q "maybe it has another secret" send.log || fail "$(cat send.log)"
wait_until 60 refused_is 2
grep -q "the peer has another secret: compare the files of --secret-file" log || fail "$(cat log)"
[ ! -e ring ] || fail "a stranger made a ring"
send "zpush://127.0.0.1:$port" --secret-file secret 2>send.log &
sender=$!
wait_until 60 test -S ring
"$build/tests/lib/ring-drain" ring >got &
wait $sender || fail "then one with the secret: $(cat send.log)"
wait_until 60 has_rows 30
kill $receiver
wait $receiver || fail "recv: $(cat log)"

# The same where recv connects: it ends, or goes on trying, and gets nothing.
"$sidecar" send 0.tar "zrpush://127.0.0.1:$port" --secret-file secret --fields cls 2>send.log &
sender=$!
for option in "" "--secret-file other"; do
    # shellcheck disable=SC2086 # words
    if "$sidecar" recv "zrpull://127.0.0.1:$port" --ring ring --give-up 2 $option 2>log; then fail "recv '$option' got in"; fi
    grep -q "one end has a secret and the other has none\|it has another secret, or none" log || fail "'$option': $(cat log)"
    [ ! -e ring ] || fail "recv '$option' got batches"
done
kill $sender
wait $sender || :

# A sender with a secret gives nothing to a receiver that has none.
receive "zpull://127.0.0.1:$port"
if send "zpush://127.0.0.1:$port" --secret-file secret --give-up 2 2>send.log; then fail "to a receiver without a secret"; fi
grep -q "one end has a secret and the other has none\|it has another secret, or none" send.log || fail "$(cat send.log)"
[ ! -e ring ] || fail "batches came"
kill $receiver
