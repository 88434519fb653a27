#!/bin/sh
# SPDX-License-Identifier: MIT
# `shufflefs bench` measures through a mount of its own, with the same options, local shards
# and by HTTP; it takes the mount away however it ends, and its folder.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
requires_fuse

mkdir tmp
export TMPDIR="$work/tmp"
cleanup 'umount -l tmp/shufflefs-bench.* 2>/dev/null'
make_shards data --shards 6 --samples 40 --bytes 3000

has_gone() {
    [ -z "$(ls tmp)" ] && ! grep -q "$work/tmp" /proc/self/mounts
}

cat >judge.py <<'EOF'
import json, sys

found = json.load(open("found"))
stages = {s["stage"]: s for s in found["stages"]}
assert list(stages) == ["reach", "source", "order", "mount", "mount2", "mount4", "cached"], found
for name in list(stages)[1:]:
    assert stages[name]["epoch_ended"] and stages[name]["bytes_per_s"] > 0, stages[name]
for name in ("mount", "mount2", "mount4", "cached"): # read to the last sample, by the mebibyte
    assert stages[name]["bytes"] >= stages["order"]["bytes"], found
EOF
start_origin data
for source in data "$origin/train-{000000..000005}.tar"; do
    "$shufflefs" bench --json -o lanes=4 --seed 5 --buffer=1M "$source" >found 2>said || fail "$(cat said)"
    "$python" judge.py
    has_gone || fail "left: $(ls tmp)"
done
"$shufflefs" bench data >found
grep -q "^mount  " found && grep -q "^cached  " found || fail "$(cat found)"

# An ini file's section; and without a mount the reason is printed, and all else.
cat >bench.conf <<EOF
[set]
source = $work/data
lanes = 3
EOF
"$shufflefs" bench -o config=bench.conf set >found
grep -q "^mount  " found || fail "$(cat found)"
TMPDIR=$work/none "$shufflefs" bench data >found
grep -q "^order  " found || fail "$(cat found)"
grep -q "The mount stage was skipped: $work/none/.*No such file" found || fail "$(cat found)"
if TMPDIR=$work/none "$shufflefs" bench --stages=mount data >found 2>said; then fail "no mount"; fi
grep -q "cannot mount: $work/none" said || fail "$(cat said)"
has_gone || fail "left: $(ls tmp)"

# A source that stalls, with readers parked in the kernel: whatever the signal, all is gone
# before the process is, and it dies of that signal.
cat >stop.py <<'EOF'
import os, signal, subprocess, sys, time

shufflefs, how, url = sys.argv[1:]
number = getattr(signal, how)
bench = subprocess.Popen([shufflefs, "bench", "--stages=mount", "-o", "stall-timeout=300s", url],
                         preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
def is_mounted():
    return os.getcwd() + "/tmp/" in open("/proc/self/mounts").read()
limit = time.time() + 60
while not is_mounted() and time.time() < limit and bench.poll() is None:
    time.sleep(0.02)
assert is_mounted(), "not mounted"
time.sleep(0.3) # mostly enough for the reader to wait; whether it does must not matter
bench.send_signal(number)
assert bench.wait(60) == -number, bench.returncode
EOF
for signal in SIGINT SIGTERM SIGHUP; do
    "$python" stop.py "$shufflefs" $signal "$origin/stall,bytes=20000,over=20000/train-{000000..000005}.tar"
    has_gone || fail "left after $signal: $(ls tmp)"
done

# Killed: the daemon ends by itself.
"$python" stop.py "$shufflefs" SIGKILL "$origin/stall,bytes=20000,over=20000/train-{000000..000005}.tar"
is_unmounted() {
    ! grep -q "$work/tmp" /proc/self/mounts
}
wait_until 30 is_unmounted
