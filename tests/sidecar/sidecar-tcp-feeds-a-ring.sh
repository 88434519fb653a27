#!/bin/sh
# SPDX-License-Identifier: MIT
# What three senders send lies in the ring of recv, each sample once, also if one was killed
# before its first batch and started anew; a sender with other tensors is refused; one that was
# lost with its batches is named; and recv --show draws one batch.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
sidecar=$build/shufflefs-sidecar
fields='img:raw,u1,3x8x8;cls'

# 0.tar, 1.tar, 2.tar: 40 samples each; channel c of image i has the bytes (i + 80 c) % 256.
"$python" - <<'END'
import io, tarfile
for i in range(120):
    with tarfile.open("%d.tar" % (i // 40), "a", format=tarfile.USTAR_FORMAT) as tar:
        image = b"".join(bytes([(i + 80 * c) % 256]) * 64 for c in range(3))
        for extension, data in ("img", image), ("cls", b"%d" % i):
            member = tarfile.TarInfo("%06d.%s" % (i, extension))
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
END

# recv OPTION...: at $url, with its process $receiver.
recv() {
    rm -f log # (of the receiver before, at another port)
    "$sidecar" recv tcp://127.0.0.1:0 --ring ring "$@" 2>log &
    receiver=$!
    until url=$(sed -n "s/.*senders on //p" log 2>/dev/null) && [ "$url" ]; do
        kill -0 $receiver 2>/dev/null || fail "recv: $(cat log)"
        sleep 0.01
    done
}

# send FILE: in the background, as process $!.
send() {
    "$sidecar" send "$1" "$url" --fields "$fields" --batch 8 2>>send.log &
}

# hung N: a sender that has so many samples and waits for more; $hung is its process.
hung() {
    rm -f more
    mkfifo more
    send more
    hung=$!
    exec 8>more
    head -c $(($1 * 2048)) 0.tar >&8
    until [ -S ring ]; do
        kill -0 $hung 2>/dev/null || fail "send: $(cat send.log)"
        sleep 0.01
    done
}

recv --senders 3
hung 3 # the ring is there, and no batch
if "$sidecar" send 0.tar "$url" --fields 'img:raw,u1,3x8x8' 2>refused; then
    fail "other tensors were taken"
fi
grep -q 'refused: its batches do not have the layout of the ring' refused || fail "$(cat refused)"
"$build/tests/lib/ring-drain" ring >got &
drain=$!
kill -9 $hung
exec 8>&-
senders=""
for i in 0 1 2; do
    send $i.tar
    senders="$senders $!"
done
for sender in $senders; do
    wait "$sender" || fail "send: $(cat send.log)"
done
wait $drain || fail "the ring: $(cat log)"
wait $receiver || fail "recv: $(cat log)"
seq 0 119 >wanted
sed -n "s/^row .* //p" got | sort -n | cmp - wanted || fail "other samples: $(cat log)"

recv --give-up 8
"$build/tests/lib/ring-drain" ring >got 2>error &
drain=$!
hung 20
until [ "$(grep -c "^row" got)" -ge 8 ]; do
    sleep 0.01
done
kill -9 $hung
exec 8>&-
if wait $drain; then fail "a lost sender was an end"; fi
if wait $receiver; then fail "recv: a lost sender was an end"; fi
grep -q 'sender 0 was lost, and did not come back in 8 s' error || fail "$(cat error)"

recv --show sheet.png
send 1.tar
sender=$!
wait $receiver || fail "--show: $(cat log)"
kill $sender
"$python" - <<'END' || fail "the sheet is another"
import struct, zlib

data = open("sheet.png", "rb").read()
assert data[:8] == b"\x89PNG\r\n\x1a\n", data[:8]
at, packed = 8, b""
while at < len(data):
    size, kind = struct.unpack(">I4s", data[at:at + 8])
    body = data[at + 8:at + 8 + size]
    if kind == b"IHDR":
        assert struct.unpack(">IIBB", body[:10]) == (24, 24, 8, 2), body
    if kind == b"IDAT":
        packed += body
    at += size + 12
lines, above = zlib.decompress(packed), bytes(72)
for y in range(24):
    kind, line = lines[73 * y], bytearray(lines[73 * y + 1:73 * y + 73])
    for x in range(72):
        a, b, c = (line[x - 3], above[x], above[x - 3]) if x > 2 else (0, above[x], 0)
        p = min((abs(b - c), 0, a), (abs(a - c), 1, b), (abs(a + b - 2 * c), 2, c))[2]
        line[x] = line[x] + (0, a, b, (a + b) // 2, p)[kind] & 255
    above = bytes(line)
    images = [y // 8 * 3 + x // 8 for x in range(24)]
    wanted = [(40 + i + 80 * c) % 256 if i < 8 else 0 for i in images for c in range(3)]
    assert list(above) == wanted, (y, list(above), wanted)
END
