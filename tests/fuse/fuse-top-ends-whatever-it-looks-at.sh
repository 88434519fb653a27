#!/bin/sh
# SPDX-License-Identifier: MIT
# `shufflefs top` ends with a sentence where stats.json is a pipe, a device, a folder, endless or
# nonsense, and where the mount hangs; it shows some of a hundred thousand streams.  Nor does
# `shufflefs umount` hang with a mount.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"

# ends WHAT WORDS: top ends with an error that says so, in one line.
ends() {
    status=0
    timeout $patience "$shufflefs" top odd >shown 2>said || status=$?
    [ $status = 1 ] || fail "exit status $status of $1: $(cat said)"
    grep -q "$2" said || fail "$1: $(cat said)"
    [ "$(wc -l <said)" = 1 ] && [ ! -s shown ] || fail "$1: $(cat said shown)"
    rm -rf odd/.shufflefs/stats.json
}

mkdir -p odd/.shufflefs
mkfifo odd/.shufflefs/stats.json
ends "a pipe" "stats.json was not written by shufflefs: it is not a regular file"
ln -s /dev/zero odd/.shufflefs/stats.json
ends "a device" "it is not a regular file"
mkdir odd/.shufflefs/stats.json
ends "a folder" "it is not a regular file"
truncate -s 1T odd/.shufflefs/stats.json
ends "an endless file" "it is too large"
echo '{"version":' >odd/.shufflefs/stats.json
ends "nonsense" "was not written by shufflefs"
ends "nothing" "odd is not a shufflefs mount"

"$python" - >odd/.shufflefs/stats.json <<'EOP'
import json
print(json.dumps({"version": "1", "shards": 1, "streams": [
    {"epoch": e, "bytes": 100, "cursors": [{"offset": 1, "verdict": "so"}]} for e in range(100000)]}))
EOP
timeout $patience "$shufflefs" top -b -n 2 -d 0.1 odd >shown
[ "$(grep -c "and 99000 more" shown)" = 2 ] || fail "$(tail -n 3 shown)"
# On a terminal of 24 lines, as many as fit.
timeout $patience "$python" - "$shufflefs" >shown <<'EOP'
import fcntl, os, pty, struct, sys, termios
pid, terminal = pty.fork()
if pid == 0:
    os.environ.pop("LINES", None)
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    os.execv(sys.argv[1], [sys.argv[1], "top", "-n", "1", "-d", "0.1", "odd"])
try:
    while data := os.read(terminal, 65536):
        os.write(1, data)
except OSError:
    pass
EOP
grep -q "and 9999[0-9] more" shown || fail "$(cat -v shown)"

# A mount whose daemon does not answer.
requires_fuse
make_shards data --shards 1
mount_ds data mnt
pid=$(daemon_pid mnt)
kill -STOP "$pid"
cleanup "kill -KILL $pid 2>/dev/null"
status=0
timeout $patience "$shufflefs" top mnt >shown 2>said || status=$?
[ $status = 1 ] || fail "exit status $status: $(cat said)"
grep -q "mnt: the mount has not responded for 10 s" said || fail "$(cat said)"
status=0
timeout $patience "$shufflefs" umount mnt 2>said || status=$?
if [ $status != 0 ]; then # (its own look at the mount keeps that busy, most often)
    [ $status = 1 ] || fail "exit status $status of umount: $(cat said)"
    grep -q "mnt does not respond; unmount it with umount --lazy" said || fail "$(cat said)"
    timeout $patience "$shufflefs" umount --lazy mnt || fail "umount --lazy"
fi
! grep -q " $work/mnt " /proc/self/mounts || fail "still mounted"
