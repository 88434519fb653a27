#!/bin/sh
# SPDX-License-Identifier: MIT
# recv at tcp://* takes senders over IPv4 and over IPv6, and names each as its family is written.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
grep -qs '^0*1 .* lo$' /proc/net/if_inet6 || skip "this host has no IPv6"
sidecar=$build/shufflefs-sidecar
"$python" - <<'END'
import io, tarfile
for i in range(2):
    with tarfile.open("%d.tar" % i, "w", format=tarfile.USTAR_FORMAT) as tar:
        member = tarfile.TarInfo("0.cls")
        member.size = 1
        tar.addfile(member, io.BytesIO(b"%d" % i))
END
"$sidecar" recv 'tcp://*:0' --insecure --ring ring --senders 2 2>log &
receiver=$!
until port=$(sed -n "s/.*senders on .*://p" log 2>/dev/null) && [ "$port" ]; do
    kill -0 $receiver 2>/dev/null || fail "recv: $(cat log)"
    sleep 0.01
done
for host in 127.0.0.1 ::1; do
    "$python" -c 'import socket, sys; s = socket.create_connection((sys.argv[1], int(sys.argv[2]))); s.sendall(b"?" * 99)
while s.recv(999): pass' $host "$port" || : # (it may be reset)
done
until [ "$(grep -c 'tcp://.*: ' log)" -ge 2 ]; do
    sleep 0.01
done
grep -q ": 127\.0\.0\.1:[0-9]*: " log || fail "IPv4: $(cat log)"
grep -q ": \[::1\]:[0-9]*: " log || fail "IPv6: $(cat log)"
"$build/tests/lib/ring-drain" ring >got &
drain=$!
"$sidecar" send 0.tar "tcp://127.0.0.1:$port" --fields cls --batch 1 2>send-0.log &
sender=$!
"$sidecar" send 1.tar "tcp://[::1]:$port" --fields cls --batch 1 2>send-1.log || fail "send: $(cat send-1.log)"
wait $sender || fail "send: $(cat send-0.log)"
wait $drain
wait $receiver || fail "recv: $(cat log)"
[ "$(sed -n 's/^row //p' got | sort)" = "$(printf '0\n1')" ] || fail "$(cat got)"
