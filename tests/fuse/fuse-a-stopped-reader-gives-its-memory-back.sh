#!/bin/sh
# SPDX-License-Identifier: MIT
# A reader that is stopped holds nobody up; when others want memory its stream's is theirs
# soon; and going on it gets the right bytes.  Eight streams at a time come to
# their end, although the budget has not even room for the lanes of all.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
requires_fuse

make_shards data --shards 12 --samples 60 --bytes 60000
options=lanes=8,buffer=1M
for e in 0 1 2 3 4 5 6 7; do
    "$shufflefs" cat -o $options data epochs/$e.tar >want-$e.tar
done
mount_ds -o $options,budget=20M data mnt

pids=""
for e in 0 1 2 3 4 5 6 7; do
    cmp want-$e.tar mnt/epochs/$e.tar &
    pids="$pids $!"
done
for pid in $pids; do wait "$pid" || fail "one of eight streams"; done
umount_ds mnt

# compare.py EPOCH SECONDS: slowly, with a rest after each MiB.
cat >compare.py <<'EOF2'
import mmap, os, sys, time
want = open("want-%s.tar" % sys.argv[1], "rb").read()
fd, buf = os.open("mnt/epochs/%s.tar" % sys.argv[1], os.O_RDONLY | os.O_DIRECT), mmap.mmap(-1, 1 << 20)
at = 0
while at < len(want):
    n = os.preadv(fd, [buf], at)
    if n <= 0 or buf[:n] != want[at:at + n]:
        sys.exit("wrong bytes of epoch %s at %d" % (sys.argv[1], at))
    at += n
    open("at-" + sys.argv[1], "w").write(str(at))
    time.sleep(0 if os.path.exists("hurry") else float(sys.argv[2]))
EOF2
# held EPOCH: bytes that cursors of that stream hold
held() {
    "$python" -c 'import json, sys
for s in json.load(open("mnt/.shufflefs/stats.json"))["streams"]:
    if s["epoch"] == int(sys.argv[1]):
        print(sum(c["held_bytes"] for c in s["cursors"]))' "$1"
}
holds() { [ "$(held "$1")" "$2" "$3" ]; }

# One that has taken all, so that the next stream has not even its floor: within seconds.
mount_ds -o $options,budget=20M data mnt
"$python" compare.py 0 0.1 &
stopped=$!
cleanup "kill -CONT $stopped 2>/dev/null"
wait_until 60 holds 0 -gt $((8 << 20))
kill -STOP $stopped
cmp want-1.tar mnt/epochs/1.tar || fail "beside one that is stopped"
kill -CONT $stopped
wait $stopped || fail "the reader that was stopped"

# One that has its share beside another that goes on, and wants more than that: after half a
# minute.
"$python" compare.py 2 1.5 &
slow=$!
wait_until 20 test -e at-2
"$python" compare.py 3 0.4 &
stopped=$!
cleanup "kill -CONT $stopped 2>/dev/null"
wait_until 60 holds 3 -gt $((5 << 19))
kill -STOP $stopped
wait_until 60 holds 3 = 0
touch hurry
kill -CONT $stopped
wait $stopped || fail "the second reader that was stopped"
wait $slow || fail "the slow reader"
[ "$(stat_of mnt events_lost)" = 0 ] || fail "$(cat mnt/.shufflefs/errors)"
umount_ds mnt
