#!/bin/sh
# SPDX-License-Identifier: MIT
# SIGTERM and SIGINT unmount; SIGHUP reads the log level, header files and tokens again; and no
# other signal that can be ignored ends the daemon, in the background or with -f.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/parked.sh"
requires_fuse

make_shards shards --shards 2
start_origin shards
mkdir -p conf "$XDG_CONFIG_HOME"
printf 'log-level = warning\n[ds]\nsource = %s/train-{000000..000001}.tar\n' "$origin" >conf/own.conf
echo "X-Token: one" >conf/token
mkdir mnt
"$shufflefs" mount -f -o config=conf/own.conf,header=@conf/token,index-cache=no ds mnt 2>log &
daemon=$!
wait_until 30 test -e mnt/README

# (Not all of them have names in every shell.)
send() {
    "$python" -c 'import os, signal, sys; os.kill(int(sys.argv[1]), signal.Signals["SIG" + sys.argv[2]])' $daemon "$1"
}
works() {
    kill -0 $daemon 2>/dev/null || fail "SIG$1 has ended the daemon"
    # (What is direct is asked of the daemon.)
    [ "$(daemon_pid mnt)" = $daemon ] || fail "the mount is dead after SIG$1"
}
for signal in USR1 USR2 QUIT ALRM VTALRM PROF IO PWR STKFLT XFSZ PIPE WINCH CHLD URG CONT \
    RTMIN RTMAX HUP; do
    send $signal
    works $signal
done

# The level that the file gives now, also where the daemon has left the folder of the command.
! grep -q "reading log level" log || fail "the level was warning: $(cat log)"
sed -i 's/warning/info/' conf/own.conf
kill -HUP $daemon
wait_until 30 grep -q "SIGHUP: reading log level, header files and tokens again" log

# The lines of a header file, although it looks as before.
head -c 1000 mnt/shards/train-000000.tar >/dev/null
grep -q '"x-token": "one"' "origin-log.$n_origins" || fail "no token"
touch -r conf/token old
echo "X-Token: two" >conf/token
touch -r old conf/token
kill -HUP $daemon
asks() {
    cat mnt/epochs/$((n = n + 1)).tar >/dev/null
    grep -q '"x-token": "two"' "origin-log.$n_origins"
}
n=0
wait_until 30 asks

# A file that is wrong changes nothing, and a line says so.
echo "nonsense" >conf/own.conf
kill -HUP $daemon
wait_until 30 grep -q "SIGHUP: keeping the log level: conf/own.conf\|SIGHUP: keeping the log level: /.*own.conf" log
works HUP

kill -INT $daemon # ignored in a shell's background, and so by what it starts
works INT
kill -TERM $daemon
wait $daemon || fail "exit status $?"
! grep -q " $work/mnt " /proc/self/mounts || fail "still mounted"

# Who is impatient sends it again and again: it has unmounted all the same, and ends with 0.
for signal in TERM HUP TERM INT TERM; do
    "$python" -c 'import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execvp(sys.argv[1], sys.argv[1:])' "$shufflefs" mount -f shards mnt 2>log &
    daemon=$!
    wait_until 30 test -e mnt/README
    kill -TERM $daemon
    while kill -$signal $daemon 2>/dev/null && ! is_gone $daemon; do :; done &
    sender=$!
    wait $daemon || fail "exit status $? after SIGTERM and many SIG$signal"
    wait $sender
    ! grep -q " $work/mnt " /proc/self/mounts || fail "still mounted after many SIG$signal"
done

# A daemon in the background, and a command line that names the level.
mount_ds -o log-level=debug "$origin/train-{000000..000001}.tar" mnt
daemon=$(daemon_pid mnt)
for signal in USR1 USR2 QUIT ALRM VTALRM PROF IO PWR HUP HUP RTMIN; do
    send $signal
    works $signal
done
umount_ds mnt
is_gone $daemon || fail "the daemon lives on"
