#!/bin/sh
# SPDX-License-Identifier: MIT
# One sender for each epoch, at one path, and a trainer that attaches anew for each: it never gets
# what has ended before it came, but waits for what comes next.  Over local:, tcp:// and samples:.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
sidecar=$build/shufflefs-sidecar
drain=$build/tests/lib/ring-drain
n_epochs=12
cleanup 'kill $producer 2>/dev/null'

make_shards shards --shards 2 --samples 40 --bytes 300 --fields cls
for e in $(seq $n_epochs); do
    "$shufflefs" cat shards epochs/$e.tar >$e.tar
done

# produces TARGET [OPTION...]: an epoch after the other.
produces() {
    for e in $(seq $n_epochs); do
        [ "${1%%:*}" != tcp ] || "$sidecar" recv "$1" --ring ring 2>>said &
        receiver=$!
        "$sidecar" send $e.tar "$@" 2>>said || exit 1
        [ "${1%%:*}" != tcp ] || wait $receiver || exit 1
    done
}

# each_is_whole N COMMAND...: what the command attaches to has N samples, in each epoch.
each_is_whole() {
    n=$1
    shift
    for e in $(seq $n_epochs); do
        timeout $patience "$@" >got 2>trainer-said || fail "epoch $e of $target: $(cat trainer-said said)"
        [ "$(grep -c '^row\|=' got)" = "$n" ] ||
            fail "wrong samples: epoch $e of $target has $(grep -c '^row\|=' got)"
    done
    wait $producer || fail "$target: $(cat said)"
}

for target in local:ring tcp://127.0.0.1:$("$python" -c 'import socket
print(socket.create_server(("127.0.0.1", 0)).getsockname()[1])'); do
    produces $target --fields 'cls:bytes,1000' --batch 16 &
    producer=$!
    each_is_whole 80 "$drain" ring
done
target=samples:given
produces $target &
producer=$!
each_is_whole 80 "$python" "$top/tests/lib/samples-trainer.py" given
