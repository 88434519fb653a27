#!/bin/sh
# SPDX-License-Identifier: MIT
# Who is waited for is who makes a stream slow: its reader, a source that answers late, a
# network of a trickle, a budget too small, the first blocks to be whole.  stats.json says
# it in per cent and in a sentence, and `shufflefs top` shows it.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
requires_fuse

make_shards shards --bytes 100000 --samples 60
start_origin shards
three="train-{000000..000002}.tar"

# judge DIR: the name of the largest share, of the stream and of its one position alike.
judge() {
    "$python" - "$1" <<'EOP'
import json, sys

stats = json.load(open(sys.argv[1] + "/.shufflefs/stats.json"))
(stream,) = stats["streams"]
(cursor,) = stream["cursors"]
names = ["reader", "source", "network", "budget", "cpu", "block"]
for name in names:  # (they are counted one after the other)
    assert abs(stream["waits"][name] - cursor["waits"][name]) <= 2, stream
assert list(stream["waits"]) == names == list(stream["waits_ms"])
shares = stream["waits"]
assert 97 <= sum(shares.values()) <= 103, shares
print(stream, file=sys.stderr)
limit = max(names, key=lambda name: shares[name])
sentence = {"block": "shuffle block", "cpu": "CPU"}.get(limit, limit)
assert stream["verdict"].startswith("the %s is the bottleneck: %d %% of the time," %
                                    (sentence, shares[limit])), stream
print(limit)
EOP
}

is_judged() {
    [ "$(judge mnt)" = "$1" ]
}

# is_limited_by NAME [-o OPTIONS] SOURCE: someone reads, and this is why it takes so long.
is_limited_by() {
    limit=$1
    shift
    mount_ds "$@" mnt
    if [ "$limit" = reader ]; then
        # (one descriptor, or each `head` would be a reader of its own)
        sh -c 'while head -c 10240 >/dev/null; do sleep 0.2; done' <mnt/epochs/0.tar &
    else
        cat mnt/epochs/0.tar >/dev/null 2>&1 &
    fi
    # After four seconds, or later on if the machine is busy.
    sleep 4
    wait_until 30 is_judged "$limit"
    "$shufflefs" top -b -n 1 -d 0.2 mnt >shown
    cat shown
    case $limit in block) says="the shuffle block is" ;; *) says="the $limit is" ;; esac
    grep -q "^  *$says the bottleneck: [0-9]* % of the time" shown || fail "top does not say it"
    grep -q "^0 .* [RSNBCK]\{20\}\$" shown || fail "top shows no bar"
    wait_s=$(sed -n "s/^shufflefs_waits_${limit}_seconds_total{.*} //p" mnt/.shufflefs/metrics.prom)
    [ "${wait_s%.*}" -ge 1 ] || fail "metrics.prom: $wait_s s of $limit"
    umount -l mnt
    wait_until 30 sh -c "! grep -q ' $work/mnt ' /proc/self/mounts"
    kill $! 2>/dev/null || :
    wait $! || :
}

late="late,ms=1000,over=600"
trickle="trickle,bytes=10000,ms=50,over=600"
is_limited_by reader -o lanes=2,buffer=64K shards
is_limited_by source -o lanes=2,buffer=64K,connections=2 "$origin/$late/$three"
is_limited_by network -o lanes=2,buffer=64K,connections=2 "$origin/$trickle/$three"
is_limited_by budget -o lanes=3,buffer=64K,connections=16,budget=10M "$origin/$late/$three"
is_limited_by block -o lanes=1,buffer=16M,connections=2 "$origin/trickle,bytes=40000,ms=30,over=600/$three"

# A mount of which nobody reads says so, and what is no mount is no error of its own.
mount_ds shards mnt
"$shufflefs" top mnt >shown # no terminal: one picture
grep -q "^shufflefs .* mnt  up .* 3 shards\$" shown || fail "no picture: $(cat shown)"
[ "$(grep -c "^shufflefs" shown)" = 1 ] || fail "more than one picture"
"$shufflefs" top -n3 -d0.1 mnt >shown
[ "$(grep -c "^shufflefs" shown)" = 3 ] || fail "not three pictures"
for place in shards nowhere; do
    status=0
    "$shufflefs" top -b "$place" >shown 2>said || status=$?
    [ $status = 1 ] || fail "exit status $status for $place"
    grep -q "^shufflefs: $place is not a shufflefs mount: it has no .shufflefs/stats.json\$" said ||
        fail "it said: $(cat said)"
done
! "$shufflefs" top mnt >/dev/full 2>said || fail "nothing could be written, and no error"
grep -q "cannot write" said || fail "it said: $(cat said)"

# On a terminal: the other screen, a picture over the last one, until q, an interrupt or
# the end of the mount; then all is as it was.
cat >on-terminal.py <<'EOP'
import os, pty, select, subprocess, sys, termios

shufflefs, how = sys.argv[1:]
go, going = os.pipe()
pid, terminal = pty.fork()
if pid == 0:
    os.read(go, 1)  # the terminal has been looked at
    os.execv(shufflefs, [shufflefs, "top", "-d", "0.1", "mnt"])
before = termios.tcgetattr(terminal)
os.write(going, b"1")
left = b"\x1b[?25h\x1b[?1049l"
seen = b""


def read_until(condition):
    global seen
    while not condition():
        if not select.select([terminal], [], [], 60)[0]:
            sys.exit("nothing for a minute after %r" % seen[-200:])
        seen += os.read(terminal, 65536)


read_until(lambda: seen.count(b"\x1b[H") >= 3)
assert seen.startswith(b"\x1b[?1049h\x1b[?25l\x1b[H"), seen[:40]
assert b" 3 shards\x1b[K\r\n" in seen, seen
assert termios.tcgetattr(terminal)[3] != before[3], "keys wait for a line"
if how == "umount":
    subprocess.run([shufflefs, "umount", "--lazy", "mnt"], check=True)  # (top may have a file open)
    read_until(lambda: b"mnt is not a shufflefs mount" in seen.partition(left)[2])
else:
    os.write(terminal, {"q": b"q", "interrupt": b"\x03"}[how])
    read_until(lambda: left in seen)
_, status = os.waitpid(pid, 0)
assert os.waitstatus_to_exitcode(status) == (1 if how == "umount" else 0), status
assert termios.tcgetattr(terminal)[3] == before[3], "the terminal is not as it was"
EOP
for how in q interrupt umount; do
    "$python" on-terminal.py "$shufflefs" $how || fail "top on a terminal: $how"
done
