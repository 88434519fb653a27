#!/bin/sh
# SPDX-License-Identifier: MIT
# Where a host's name has two addresses, and recv listens at one of them, send finds it.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
requires_root
unshare -m true 2>/dev/null || skip "there are no namespaces for mounts here"
sidecar=$build/shufflefs-sidecar
printf '127.0.0.1 twofold\n127.0.0.2 twofold\n' >hosts
"$python" - <<'END'
import io, tarfile
with tarfile.open("0.tar", "w", format=tarfile.USTAR_FORMAT) as tar:
    member = tarfile.TarInfo("0.cls")
    member.size = 1
    tar.addfile(member, io.BytesIO(b"7"))
END

for address in 127.0.0.1 127.0.0.2; do
    rm -f log
    "$sidecar" recv tcp://$address:0 --ring ring 2>log &
    receiver=$!
    until port=$(sed -n "s/.*senders on .*://p" log 2>/dev/null) && [ "$port" ]; do
        kill -0 $receiver 2>/dev/null || fail "recv: $(cat log)"
        sleep 0.01
    done
    "$build/tests/lib/ring-drain" ring >got &
    drain=$!
    unshare -m sh -c 'mount --bind hosts /etc/hosts && exec "$@"' - \
        "$sidecar" send 0.tar "tcp://twofold:$port" --fields cls --batch 1 --give-up 20 2>send.log ||
        fail "$address: send: $(cat send.log)"
    wait $drain
    wait $receiver || fail "$address: recv: $(cat log)"
    [ "$(sed -n 's/^row //p' got)" = 7 ] || fail "$address: $(cat got)"
done
