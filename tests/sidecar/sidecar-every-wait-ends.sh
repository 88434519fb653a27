#!/bin/sh
# SPDX-License-Identifier: MIT
# Nobody waits for ever, and each says for whom it has waited: a receiver that no sender reaches,
# or from which no trainer takes; a sender whose receiver is mute, or hangs up again and again; and
# all of them when a trainer has died with a batch (--on-consumer-death=fail), though the sender
# waits for its stream.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
sidecar=$build/shufflefs-sidecar

make_labels 0.tar 200

# recv SOURCE OPTION...: its process is $receiver, and $url where it is.
recv() {
    rm -f log
    timeout $patience "$sidecar" recv "$@" --ring ring 2>log &
    receiver=$!
    until url=$(sed -n "s/.*senders on //p" log 2>/dev/null) && [ "$url" ]; do
        kill -0 $receiver 2>/dev/null || fail "recv: $(cat log)"
        sleep 0.01
    done
}

# ends PROCESS LOG WHY: with status 1.
ends() {
    status=0
    wait "$1" || status=$?
    [ $status = 1 ] || fail "$3: status $status: $(cat "$2")"
    grep -q "$3" "$2" || fail "not '$3': $(cat "$2")"
}

recv tcp://127.0.0.1:0 --give-up 1
ends $receiver log "no sender came for 1 s"

recv tcp://127.0.0.1:0 --give-up 12
timeout $patience "$sidecar" send 0.tar "$url" --fields cls --batch 8 2>send.log &
sender=$!
ends $receiver log "no trainer was attached to the ring for 12 s"
ends $sender send.log "the receiver has ended: no trainer was attached to the ring for 12 s"

# dies TARGET: a trainer does, when the sender has sent what it has, and waits for more.
dies() {
    mkfifo more
    timeout $patience "$sidecar" send more "$1" --fields cls --batch 8 --give-up 50 2>send.log &
    sender=$!
    exec 8>more
    head -c 40960 0.tar >&8 # (40 samples)
    wait_until 60 test -S ring
    "$build/tests/lib/ring-drain" ring held >got 2>error &
    drain=$!
    wait_until 60 grep -q "^row" got
    kill -9 $drain
    wait $drain || :
    ends $sender send.log "died while it held batch 0"
    exec 8>&-
    rm -f more got ring.state
}
recv tcp://127.0.0.1:0 --give-up 50
dies "$url"
ends $receiver log "died while it held batch 0"
dies local:ring

# mute HOW NAME: a peer that takes connections, and does no more; or answers HELLO, and then hangs
# up, or is silent.  $NAME is the process of its sender.
mute() {
    rm -f port
    "$python" - "$1" <<'END' &
import os, socket, struct, sys
listener = socket.create_server(("127.0.0.1", 0))
with open("port.new", "w") as file:
    file.write(str(listener.getsockname()[1]))
os.rename("port.new", "port")
kept = []
while True:
    peer = listener.accept()[0]
    kept.append(peer)
    hello = peer.recv(48, socket.MSG_WAITALL)
    if sys.argv[1] == "mute" or len(hello) < 48:
        continue
    version, = struct.unpack_from("<H", hello, 4)
    peer.sendall(struct.pack("<4sHHQQIIQ24x", b"SFS1", version, 64, *struct.unpack_from("<Q", hello, 8), 0, 0, 4, 0))
    if sys.argv[1] == "hangs-up":
        peer.close()
END
    wait_until 60 test -e port
    port=$(cat port)
    timeout $patience "$sidecar" send 0.tar "tcp://127.0.0.1:$port" --fields cls --batch 8 --give-up 2 2>"$1.log" &
    eval "$2=$!"
}
mute mute first
mute hangs-up second
mute silent third
ends "$first" mute.log "no receiver for 2 s"
ends "$second" hangs-up.log "no receiver for 2 s"
ends "$third" silent.log "the receiver was silent for 10 s"
