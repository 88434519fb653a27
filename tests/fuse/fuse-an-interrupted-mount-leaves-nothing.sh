#!/bin/sh
# SPDX-License-Identifier: MIT
# A mount command that ends before it has reported success takes its daemon with it,
# whatever ended it: ^C, a signal, kill -9, a terminal that was closed.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
requires_fuse

make_shards data --shards 1
start_origin data
mkdir mnt

nothing_runs() {
    [ -z "$(our_processes -x shufflefs)" ]
}

# begin COMMAND...: mount with it, as far as the server lets us.
begin() {
    touch data/held
    : >"origin-log.$n_origins"
    "$@" "$shufflefs" mount "$origin/held,while=held/train-000000.tar" "$work/mnt" 2>said &
    command=$!
    wait_until 30 grep -q GET "origin-log.$n_origins"
}

# gone: the daemon does not wait for the server, and mounts nothing when it answers.
gone() {
    wait_until 30 nothing_runs
    rm data/held
    ! grep -qs " $work/mnt " /proc/self/mounts || fail "mounted after $signal"
    # (On a busy machine it may have said already what it waits for.)
    ! grep -v "waiting for the size" said || fail "$signal: $(cat said)"
}

for signal in INT TERM HUP QUIT KILL; do
    begin env --default-signal
    kill -"$signal" $command
    status=0
    wait $command || status=$?
    [ $status -gt 128 ] || fail "exit status $status after SIG$signal"
    [ $signal = KILL ] || [ $signal = QUIT ] || nothing_runs ||
        fail "the command ended before its daemon after SIG$signal"
    gone
done

# Who ignores SIGHUP, as with nohup, goes on waiting.
begin env --default-signal --ignore-signal=HUP
kill -HUP $command
rm data/held
wait $command || fail "nohup: $(cat said)"
grep -qs " $work/mnt " /proc/self/mounts || fail "not mounted"
umount_ds mnt

# A terminal that is closed sends SIGHUP to what runs in it.
signal="a closed terminal"
touch open
begin "$python" -c '
import os, pty, signal, sys, time
pid, terminal = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], sys.argv[1:])
while os.path.exists("open"):
    time.sleep(0.01)
os.close(terminal)
os.waitpid(pid, 0)'
rm open
gone

# What is mounted stays, whatever becomes of who started it.
signal="a command that is over"
"$python" -c '
import os, signal, subprocess, sys
child = subprocess.Popen(sys.argv[1:], start_new_session=True)
status = child.wait()
try:
    os.killpg(child.pid, signal.SIGHUP)
except ProcessLookupError:
    pass
sys.exit(status)' "$shufflefs" mount data "$work/mnt"
stat mnt/epochs/0.tar >/dev/null
umount_ds mnt
