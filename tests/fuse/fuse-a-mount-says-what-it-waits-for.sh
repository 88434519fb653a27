#!/bin/sh
# SPDX-License-Identifier: MIT
# A mount that has not ended after 3 seconds says what it waits for, in one line, and for how long at
# most: for the size of a shard, with the last answer of the server, for other sizes, or for the list
# of the shards.  It ends by read-timeout.  One that ends before says nothing.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"
requires_fuse

good_shards --samples 3
start_origin shards
mkdir mnt

# A server that accepts, and never says a word.
"$python" -c 'import socket, time
s = socket.socket()
s.bind(("127.0.0.1", 0))
s.listen(64)
print(s.getsockname()[1], flush=True)
time.sleep(3600)' >mute-port &
wait_until 30 grep -q . mute-port
mute="http://127.0.0.1:$(cat mute-port)"

# says LINE ARG...: while it waits, and once.  ($before: lines that come before it.)
before=
says() {
    line=$1
    shift
    rm -f said
    "$shufflefs" mount "$@" mnt 2>said-all &
    command=$!
    what_it_waits_for() {
        grep -v "^shufflefs: ${before:-nothing}" said-all >said
    }
    wait_until 60 what_it_waits_for
    kill -0 $command || fail "ended: $(cat said-all)"
    grep -q "^shufflefs: $line" said || fail "said: $(cat said-all)"
    kill $command
    wait $command && fail "mounted"
    what_it_waits_for
    [ "$(wc -l <said)" = 1 ] || fail "not once: $(cat said-all)"
    ! grep -qs " $work/mnt " /proc/self/mounts || fail "mounted all the same"
}

patient="-o read-timeout=10m,stall-timeout=10m,connect-timeout=10m"
in="; it gives up after [0-9]* s more at the latest$"
says "x-0.tar: waiting for the size from $mute$in" $patient "$mute/x-{0..3}.tar"
before="retry: $origin: HTTP 429 (too many requests), retry in [0-9]* ms, as the server says"
says "train-000000.tar: waiting for the size from $origin (last try: HTTP 429.*)$in" \
    $patient "$origin/429,retry-after=60/$three"
grep -q "$before" said-all || fail "not a word of the server: $(cat said-all)"
before=
says "train-000001.tar: waiting for the size.* from $origin$in" \
    $patient -o expect-order=0123456789abcdef "$origin/stall,only=*1.tar/$three"
mkfifo list
says "waiting for the list of the shards of @list$in" $patient @list

# It ends by its deadline, whatever it waits for.
for source in "$mute/x-{0..3}.tar" @list; do
    mount_refused -o read-timeout=4s,stall-timeout=10m "$source"
    said "waiting for the .*; it gives up after 2 s more at the latest$\|read-timeout"
    said "4 s (read-timeout)"
done

# One that goes well is silent.
mount_ds "$origin/$three" mnt 2>said
[ ! -s said ] || fail "said: $(cat said)"
umount_ds mnt
