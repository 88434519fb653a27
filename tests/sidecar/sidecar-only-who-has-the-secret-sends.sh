#!/bin/sh
# SPDX-License-Identifier: MIT
# recv listens beyond loopback only with --secret-file or --insecure. With a secret it takes batches
# only of a sender that has the same one; each other is told why, ends at once, and is one line and
# one of the count, and the ring has nothing of it. A secret that others can read is refused, and
# the list of processes shows a path.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
sidecar=$build/shufflefs-sidecar
"$python" - <<'END'
import io, tarfile
for i in range(2):
    with tarfile.open("%d.tar" % i, "w", format=tarfile.USTAR_FORMAT) as tar:
        for k in range(8):
            member = tarfile.TarInfo("%d.cls" % k)
            member.size = 1
            tar.addfile(member, io.BytesIO(b"%d" % i))
END
umask 077
echo "a secret that both ends have" >secret
printf 'a secret that both ends have' >same # (an end of line does not count)
echo "a secret that the others have" >other

# says WORDS COMMAND...: it fails at once, and says so in one line.
says() {
    words=$1
    shift
    if timeout "$patience" "$@" 2>said; then fail "$*: it did not fail"; fi
    [ "$(wc -l <said)" = 1 ] || fail "$*: not one line: $(cat said)"
    grep -qF -- "$words" said || fail "$*: no '$words' in: $(cat said)"
}

# ---- where it may listen

for at in 'tcp://*:0' tcp://0.0.0.0:0 'tcp://[::]:0'; do
    says "anyone who can reach this address could feed the trainer: add --secret-file" \
        "$sidecar" recv "$at" --ring ring
done
says "--insecure and --secret-file exclude each other" \
    "$sidecar" recv tcp://127.0.0.1:0 --ring ring --insecure --secret-file secret
six=
! grep -qs '^0*1 .* lo$' /proc/net/if_inet6 || six='tcp://[::1]:0'
for at in tcp://127.0.0.1:0 tcp://127.9.9.9:0 tcp://localhost:0 $six; do
    rm -f log # (of the one before)
    "$sidecar" recv "$at" --ring ring 2>log &
    receiver=$!
    until grep -qs "waiting for senders" log; do
        kill -0 $receiver 2>/dev/null || fail "recv $at: $(cat log)"
        sleep 0.01
    done
    kill $receiver
    wait $receiver || :
done

# ---- which files are secrets

cp secret readable
chmod 640 readable
says "its mode is 0640, so other users can read it: run chmod 600" \
    "$sidecar" recv tcp://127.0.0.1:0 --ring ring --secret-file readable
says "readable: its mode is 0640" "$sidecar" send 0.tar tcp://127.0.0.1:9 --fields cls --secret-file readable
echo short >short
says "a secret has at least 16 bytes, and this one has 5; make one with: openssl rand -hex 32" \
    "$sidecar" recv tcp://127.0.0.1:0 --ring ring --secret-file short
head -c 5000 /dev/urandom >long
says "a secret has at most 4096 bytes" "$sidecar" recv tcp://127.0.0.1:0 --ring ring --secret-file long
mkfifo fifo
says "it is not a regular file" "$sidecar" recv tcp://127.0.0.1:0 --ring ring --secret-file fifo
says "the secret file nowhere: No such file" "$sidecar" recv tcp://127.0.0.1:0 --ring ring --secret-file nowhere
says "--secret-file is for targets on other hosts" "$sidecar" send 0.tar local:x --fields cls --secret-file secret
says "--secret-file is for targets on other hosts" "$sidecar" send 0.tar samples:x --secret-file secret
if [ "$(id -u)" = 0 ]; then
    cp secret foreign
    chown 12345 foreign
    says "it belongs to user 12345, neither to you nor to root" \
        "$sidecar" recv tcp://127.0.0.1:0 --ring ring --secret-file foreign
fi

# ---- who gets in

rm -f log
"$sidecar" recv 'tcp://0.0.0.0:0' --ring ring --senders 2 --secret-file secret --metrics m.prom --stats 1 2>log &
receiver=$!
until port=$(sed -n "s/.*senders on .*://p" log 2>/dev/null) && [ "$port" ]; do
    kill -0 $receiver 2>/dev/null || fail "recv: $(cat log)"
    sleep 0.01
done
url=tcp://127.0.0.1:$port
tr '\0' '\n' <"/proc/$receiver/cmdline" | grep -q '^secret$' || fail "the path is not in its command line"
says "the receiver refused: recv has a secret, and the sender has none: start it with --secret-file" \
    "$sidecar" send 0.tar "$url" --fields cls --batch 4
says "the receiver refused: sender and recv have different secrets: compare the files of --secret-file" \
    "$sidecar" send 0.tar "$url" --fields cls --batch 4 --secret-file other
"$python" - "$port" <<'END' # none of ours; and one that breaks off
import socket, sys
for data in b"GET / HTTP/1.1\r\n\r\n" * 9, b"SFS1":
    s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    try: # (it may be reset)
        s.sendall(data)
        s.shutdown(socket.SHUT_WR)
        while s.recv(999): pass
    except OSError:
        pass
END
wait_until 60 grep -q '^shufflefs_sidecar_refused_connections_total{role="recv",name="m"} 4$' m.prom
[ "$(grep -c "tcp://.*: 127\.0\.0\.1:[0-9]*: " log)" = 4 ] || fail "not four lines: $(cat log)"
[ ! -e ring ] || fail "a stranger made a ring"
"$build/tests/lib/ring-drain" ring >got &
drain=$!
"$sidecar" send 0.tar "$url" --fields cls --batch 4 --secret-file same 2>send-0.log &
sender=$!
"$sidecar" send 1.tar "$url" --fields cls --batch 4 --secret-file secret 2>send-1.log || fail "send: $(cat send-1.log)"
wait $sender || fail "send: $(cat send-0.log)"
wait $drain
wait $receiver || fail "recv: $(cat log)"
sed -n 's/^row //p' got | sort | uniq -c | tr -s ' ' >rows
printf ' 8 0\n 8 1\n' | cmp - rows || fail "wrong samples: $(cat got)"
grep -q ', 4 connections refused' log || fail "the statistics: $(cat log)"

# ---- a sender with a secret wants one of the receiver

rm -f log
"$sidecar" recv tcp://127.0.0.1:0 --ring ring 2>log &
receiver=$!
until url=$(sed -n "s/.*senders on //p" log 2>/dev/null) && [ "$url" ]; do
    kill -0 $receiver 2>/dev/null || fail "recv: $(cat log)"
    sleep 0.01
done
says "the receiver refused: the sender has a secret, and recv has none" \
    "$sidecar" send 0.tar "$url" --fields cls --secret-file secret
kill $receiver
