#!/bin/sh
# SPDX-License-Identifier: MIT
# While a hundred readers wait for a server that has fallen silent, every other file of
# the mount can be read; when the server speaks again, all of them get their bytes.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/parked.sh"
requires_fuse

opts="lanes=4,buffer=64K,keys=asis,readahead=0"
stalling_shards --shards 3
make_shards local --shards 1 --samples 5 --name local.tar
for e in $(seq 0 9); do
    "$shufflefs" cat -o $opts 'shards/train-{000000..000002}.tar' local "epochs/$e.tar" >"want.$e"
done
mount_ds -o "$opts,connect-timeout=2s,stall-timeout=300ms,retries=100" "$stalling" local mnt
shards=$(dirname "$(find mnt/shards -name train-000000.tar)")
local=$(find mnt/shards -name local.tar)

# read_part IN OUT ARG...: in the background
pids=""
read_part() {
    in=$1
    out=$2
    shift 2
    dd if="$in" of="$out" status=none "$@" &
    pids="$pids $!"
}
for i in $(seq 0 24); do
    e=$((i % 5))
    read_part "mnt/epochs/$e.tar" "cached.$i" bs=65536 count=1 skip=$((i / 5))
    read_part "mnt/epochs/$((e + 5)).tar" "direct.$i" bs=65536 count=1 skip=$((i / 5)) iflag=direct
    read_part "$shards/train-000000.tar" "shard-cached.$i" bs=4096 count=1 skip="$i"
    read_part "$shards/train-000001.tar" "shard-direct.$i" bs=4096 count=1 skip="$i" iflag=direct
done
are_parked dd $pids

# The hundred and first.
others() {
    grep -q "^shards  4" mnt/README || fail "README: $(cat mnt/README)"
    [ "$(daemon_pid mnt)" -gt 1 ] || fail "stats.json"
    [ "$(ls mnt/epochs | wc -l)" = 10 ] || fail "epochs/"
    stat "$shards/train-000002.tar" mnt/epochs/77.tar >/dev/null
    same local/local.tar "$local"
    for f in $(tar tf local/local.tar); do
        cat "mnt/samples/${local#mnt/shards/}/$f" >/dev/null
    done
}
others
is_parked dd $pids || fail "somebody did not wait so long"

rm shards/stalled
for p in $pids; do
    wait "$p" || fail "a reader got an error"
done
for i in $(seq 0 24); do
    e=$((i % 5))
    dd if=want.$e bs=65536 count=1 skip=$((i / 5)) status=none | cmp - "cached.$i"
    dd if=want.$((e + 5)) bs=65536 count=1 skip=$((i / 5)) status=none | cmp - "direct.$i"
    dd if=shards/train-000000.tar bs=4096 count=1 skip="$i" status=none | cmp - "shard-cached.$i"
    dd if=shards/train-000001.tar bs=4096 count=1 skip="$i" status=none | cmp - "shard-direct.$i"
done
umount_ds mnt
