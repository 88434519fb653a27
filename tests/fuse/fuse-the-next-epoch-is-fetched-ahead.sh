#!/bin/sh
# SPDX-License-Identifier: MIT
# As a stream nears its end, the beginning of the next epoch is fetched, of the same part:
# always with next-epoch=yes, with auto if the epoch before was read to its end, too, and
# never with no.  Whoever reads that epoch then finds the right bytes, and waits for nobody.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
requires_fuse

order=lanes=8,buffer=1M
make_shards data --shards 24 --samples 25 --bytes 30000 --restart-keys
start_origin data
source="$origin/train-{000000..000023}.tar"

# stream_of DIR EPOCH: "OPEN PREFETCHED READY SHARE", of a stream that there is.
cat >stream_of.py <<'EOP'
import json, sys
with open(sys.argv[1] + "/.shufflefs/stats.json") as file:
    streams = json.load(file)["streams"]
for s in streams:
    if s["epoch"] == int(sys.argv[2]):
        print(s["open"], "ahead" if s["prefetched"] else "asked-for",
              sum(c["ready_bytes"] for c in s["cursors"]),
              "%d/%d" % (s["first_lane"], s["lane_step"]))
EOP
stream_of() { "$python" stream_of.py "$@"; }

# is_ahead DIR EPOCH [SHARE]: nobody has it open, and bytes of it are ready.
is_ahead() {
    stream_of "$1" "$2" | grep -q "^0 ahead [1-9][0-9]* ${3:-0/1}\$"
}
is_quiet() {
    "$python" - "$1" <<'EOP'
import json, sys
with open(sys.argv[1] + "/.shufflefs/stats.json") as file:
    sys.exit(any(c["requests"] for s in json.load(file)["streams"] for c in s["cursors"]))
EOP
}
requests() { stat_of mnt requests | head -n 1; }
# stays_away DIR EPOCH: it is not begun, at the next look either.
stays_away() {
    sleep 2.5
    [ -z "$(stream_of "$1" "$2")" ] || fail "$1: epoch $2: $(stream_of "$1" "$2")"
}

for e in 0 1 2; do
    "$shufflefs" cat -o $order data epochs/$e.tar >$e.tar
done

# yes: after a part nothing, after all of it the next.
mount_ds -o $order,next-epoch=yes "$source" mnt
head -c 5000000 mnt/epochs/0.tar >/dev/null
stays_away mnt 1
cmp 0.tar mnt/epochs/0.tar || fail "epoch 0"
wait_until 30 is_ahead mnt 1
wait_until 30 is_quiet mnt
before=$(requests)
head -c 3000000 mnt/epochs/1.tar >head
cmp -n 3000000 head 1.tar || fail "the beginning of epoch 1"
[ "$(requests)" = "$before" ] || fail "$(($(requests) - before)) requests for what was there"
cmp 1.tar mnt/epochs/1.tar || fail "epoch 1"
wait_until 30 is_ahead mnt 2

# Who begins elsewhere gets what belongs there.
tail -c +4000001 2.tar >want
tail -c +4000001 mnt/epochs/2.tar >have
same want have
umount_ds mnt

# auto: with an epoch before, only.
mount_ds -o $order "$source" mnt
cat mnt/epochs/0.tar >/dev/null
stays_away mnt 1
cmp 1.tar mnt/epochs/1.tar || fail "epoch 1 with auto"
wait_until 30 is_ahead mnt 2
cmp 2.tar mnt/epochs/2.tar || fail "epoch 2 with auto"
umount_ds mnt

# no: never.
mount_ds -o $order,next-epoch=no "$source" mnt
cat mnt/epochs/0.tar mnt/epochs/1.tar >/dev/null
stays_away mnt 2
umount_ds mnt

# Ranks and workers have a next epoch of their own; so have equal lanes.
for options in $order $order,segment=200K,equal=pad; do
    mount_ds -o $options,next-epoch=yes "$source" mnt
    cat mnt/epochs/0/rank-1-of-2.tar >/dev/null
    wait_until 30 is_ahead mnt 1 1/2
    [ "$(stream_of mnt 1 | wc -l)" = 1 ] || fail "others, too: $(stream_of mnt 1)"
    "$shufflefs" cat -o $options data epochs/1/rank-1-of-2.tar >want
    cmp want mnt/epochs/1/rank-1-of-2.tar || fail "rank 1 with $options"
    [ "$(stat_of mnt events_lost)" = 0 ] || fail "$(cat mnt/.shufflefs/errors)"
    umount_ds mnt
done
