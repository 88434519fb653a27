#!/bin/sh
# SPDX-License-Identifier: MIT
# When a sender fails, trainers get the batches before and then its own sentence, without waiting
# for --give-up, and so do the other senders.  When sample and receiver are there again, each batch
# comes once.  A sender that was only stopped is waited for.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
sidecar=$build/shufflefs-sidecar

# good.tar has 40 samples; in bad.tar, number 30 is broken.
"$python" - <<'END'
import io, tarfile
for name in "good", "bad":
    with tarfile.open(name + ".tar", "w", format=tarfile.USTAR_FORMAT) as tar:
        for i in range(40):
            text = b"none" if name == "bad" and i == 30 else b"%d" % i
            for extension, data in ("img", bytes([i]) * 192), ("cls", text):
                member = tarfile.TarInfo("%06d.%s" % (i, extension))
                member.size = len(data)
                tar.addfile(member, io.BytesIO(data))
END

# recv OPTION...: at $url, with its process $receiver.
recv() {
    rm -f log # (of the receiver before, at another port)
    "$sidecar" recv tcp://127.0.0.1:0 --ring ring --give-up 50 "$@" 2>log &
    receiver=$!
    until url=$(sed -n "s/.*senders on //p" log 2>/dev/null) && [ "$url" ]; do
        kill -0 $receiver 2>/dev/null || fail "recv: $(cat log)"
        sleep 0.01
    done
}

# send FILE: in the background, as process $!.
send() {
    "$sidecar" send "$1" "$url" --fields 'img:raw,u1,3x8x8;cls' --batch 8 2>>send.log &
}

# hold N: a sender that has so many samples and waits for more; $held is its process.
hold() {
    rm -f more
    mkfifo more
    send more
    held=$!
    exec 8>more
    head -c $(($1 * 2048)) good.tar >&8
}

rows() {
    sed -n "s/^row .* //p" got | sort -n
}

recv --senders 2
hold 10
wait_until 60 test -S ring
"$build/tests/lib/ring-drain" --again 0 ring >got 2>error &
drain=$!
wait_until 60 grep -q "^row" got # (without a trainer the ring would just end)
cp bad.tar 0.tar
send 0.tar
sender=$!
if wait $receiver; then fail "a failed sender was an end"; fi
if wait $sender; then fail "a failed sender was none"; fi
cat good.tar >&8 2>/dev/null || : # (it notices when it has a batch)
if wait $held; then fail "the other sender knows nothing"; fi
exec 8>&-
why="sender 1 (127.0.0.1:[0-9]*) has failed: sample 30 ('000030') of epoch 0: field 'cls': this is not an integer"
until grep -q "^ring-drain: " error; do sleep 0.01; done
grep -q "$why" error || fail "the trainer: $(cat error)"
grep -q "$why" log || fail "recv: $(cat log)"
grep -q "the receiver has ended: $why" send.log || fail "send: $(cat send.log)"
{ seq 0 7; seq 0 23; } | sort -n >wanted # of both
rows | cmp - wanted || fail "before the failure: $(cat got)"

cp good.tar 0.tar
recv --senders 2
send 0.tar
sender=$!
send more
held=$!
cat good.tar >more
wait $sender || fail "send again: $(cat send.log)"
wait $held || fail "send again: $(cat send.log)"
wait $receiver || fail "recv again: $(cat log)"
wait $drain || fail "the trainer: $(cat error)"
{ seq 0 39; seq 0 39; } | sort -n >wanted
rows | cmp - wanted || fail "after the failure: $(cat got)"
seq 0 39 >wanted

recv
hold 20
wait_until 60 test -S ring
"$build/tests/lib/ring-drain" ring >got 2>error &
drain=$!
until [ "$(grep -c "^row" got)" -ge 16 ]; do
    sleep 0.01
done
kill $held
wait $held || :
exec 8>&-
grep -q stopped send.log || fail "send: $(cat send.log)"
send more
sender=$!
cat good.tar >more
wait $sender || fail "send after a stop: $(cat send.log)"
wait $receiver || fail "recv: a sender that was stopped is waited for: $(cat log)"
wait $drain || fail "the trainer: $(cat error)"
rows | cmp - wanted || fail "after a stop: $(cat got)"
