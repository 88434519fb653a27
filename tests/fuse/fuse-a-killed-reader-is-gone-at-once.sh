#!/bin/sh
# SPDX-License-Identifier: MIT
# A reader that waits for a silent server is gone when it is killed, long before any
# time-out: by SIGKILL, SIGTERM and SIGINT, cached and O_DIRECT, in a read, a look-up
# and a listing.  The mount works on.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/parked.sh"
requires_fuse

stalling_shards --shards 3
mount_ds $patient "$stalling" mnt
cleanup "end_daemon $(daemon_pid mnt)"

# killed COMMAND ARG...: by each signal, with its default action; one with a handler ends no wait,
# and dd has one for SIGINT.
# (What a shell starts in the background ignores SIGINT; env gives it back.)
killed() {
    signals="KILL INT TERM"
    [ "$1" != dd ] || signals="KILL TERM"
    for signal in $signals; do
        env --default-signal=INT "$@" >/dev/null &
        reader=$!
        are_parked "$1" $reader
        kill -$signal $reader
        wait_until 60 is_gone $reader
        status=0
        wait $reader || status=$?
        [ $status -gt 128 ] || fail "status $status after SIG$signal of: $*"
    done
}

killed head -c 4096 mnt/epochs/0.tar
killed dd if=mnt/epochs/1.tar bs=1M iflag=direct status=none
killed tail -c 4096 mnt/shards/train-000001.tar
# The kernel still waits for what the one before wanted for the page cache; an open with
# O_DIRECT must not wait for that.
killed dd if=mnt/shards/train-000001.tar bs=4096 iflag=direct status=none
killed cat mnt/samples/train-000000.tar/000001.jpg
killed ls mnt/samples/train-000002.tar

# Several at one place: only who is killed goes.
dd if=mnt/epochs/2.tar of=got bs=1M count=1 iflag=direct,fullblock status=none &
survivor=$!
dd if=mnt/epochs/2.tar of=got2 bs=1M count=1 status=none &
survivor2=$!
killed dd if=mnt/epochs/2.tar bs=1M iflag=direct status=none
killed head -c 4096 mnt/epochs/2.tar
is_parked dd $survivor $survivor2 || fail "another reader was ended too"
kill -KILL $survivor $survivor2
wait_until 60 is_gone $survivor
wait_until 60 is_gone $survivor2

# And what they left behind is usable.
rm shards/stalled
grep -q "^shards  3" mnt/README || fail "README"
ls mnt/epochs >/dev/null
umount_ds mnt
