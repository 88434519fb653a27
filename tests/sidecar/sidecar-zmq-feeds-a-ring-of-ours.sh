#!/bin/sh
# SPDX-License-Identifier: MIT
# What our sender sends over ZeroMQ comes out of the ring of recv bit for bit as with local:, in
# order: pushed and published, bound at either end, over TCP and IPC, in frames and in one part.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
sidecar=$build/shufflefs-sidecar
export SHUFFLEFS_PLUGINS="$build"
[ -e "$build/zmq.so" ] || skip "there is no plug-in for ZeroMQ"
fields='img:raw,u1,3x50x50;cls;txt:bytes,9'

# 62 samples, of which the last batch has 6.
"$python" - <<'END'
import io, random, tarfile
rng = random.Random(5)
with tarfile.open("0.tar", "w", format=tarfile.USTAR_FORMAT) as tar:
    for i in range(62):
        text = rng.randbytes(rng.randrange(10))
        for extension, data in ("img", rng.randbytes(7500)), ("cls", b"%d" % i), ("txt", text):
            member = tarfile.TarInfo("%06d.%s" % (i, extension))
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
END

"$build/tests/lib/ring-drain" ring >all &
"$sidecar" send 0.tar local:ring --fields "$fields" --batch 8 2>log || fail "$(cat log)"
wait $!
grep "^row" all >wanted # (Tensorcom carries no other numbers)
[ "$(wc -l <wanted)" = 62 ] || fail "local: $(wc -l <wanted) rows"

# carries TARGET SOURCE
carries() {
    rm -f ring all
    "$sidecar" recv "$2" --ring ring 2>log &
    receiver=$!
    "$sidecar" send 0.tar "$1" --fields "$fields" --batch 8 --slots 2 2>send.log &
    sender=$!
    wait_until 60 test -S ring
    "$build/tests/lib/ring-drain" ring >all &
    drain=$!
    wait $sender || fail "send $1: $(cat send.log)"
    wait_until 60 has_rows
    kill $receiver # (Tensorcom has no end but this)
    wait $receiver || fail "recv $2: $(cat log)"
    wait $drain
    grep "^row" all | cmp wanted - || fail "$1 to $2: other rows: $(cat log send.log)"
}

has_rows() {
    [ "$(grep -c "^row" all)" -ge 62 ]
}

port=$("$python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
carries "zpush://127.0.0.1:$port" "zpull://127.0.0.1:$port"
carries "zpush+ipc://$work/a?single" "zpull+ipc://$work/a"
carries "zpub+ipc://$work/b?wait=1" "zsub+ipc://$work/b"
carries "zpub://127.0.0.1:$port?single&wait=1" "zsub://127.0.0.1:$port"
carries "zrpush://127.0.0.1:$port?single" "zrpull://127.0.0.1:$port"
carries "zrpush+ipc://$work/c" "zrpull+ipc://$work/c"
carries "zrpub+ipc://$work/d?wait=1&single" "zrsub+ipc://$work/d"
carries "zrpub://127.0.0.1:$port?wait=1" "zrsub://127.0.0.1:$port"
