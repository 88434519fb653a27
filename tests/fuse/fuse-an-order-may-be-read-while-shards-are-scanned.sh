#!/bin/sh
# SPDX-License-Identifier: MIT
# Headers of the shards are being read for one thing when another is asked for: the .order
# of an epoch, which needs all members, or a folder of samples/.  Each gets what it needs.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/parked.sh"
requires_fuse

# While there is a file shards/held, no body goes on after its first 4 KiB.
make_shards shards --shards 3 --bytes 20000 --samples 20
start_origin shards
held="$origin/pause,bytes=4096,over=600,while=held/train-{000000..000002}.tar"
for segment in shard random; do
    "$python" "$top/scripts/order.py" list shards 0.tar --lanes 4 --buffer 64K --segment $segment >want.$segment
done
tar tf shards/train-000001.tar | LC_ALL=C sort >members

# asked FIRST SECOND: two of `table`, `listing` and `order`, one after the other.
asked() {
    touch shards/held
    # shellcheck disable=SC2086 # options are words
    mount_ds $patient -o segment=$segment,index-cache=no,index-wait=10m "$held" mnt
    daemon=$(daemon_pid mnt)
    cleanup "end_daemon $daemon"
    n=$(wc -l <"origin-log.$n_origins")
    for what in "$@"; do
        case $what in
        table) stat mnt/epochs/0@5.tar >out.$what 2>&1 & ;;
        listing) ls mnt/samples/train-000001.tar >out.$what 2>&1 & ;;
        order) cat mnt/epochs/0.order >out.$what 2>&1 & ;;
        esac
        pids="$pids $!"
        [ "$what" != "$1" ] || wait_until 30 has_asked "$n" # its scan has begun
    done
    sleep 0.2 # (if the second comes too late to be of use, that is no error)
    rm shards/held
    for pid in $pids; do
        wait "$pid" || fail "$*: $(tail -n 3 out.*)"
    done
    for what in "$@"; do
        case $what in
        listing) same members out.listing ;;
        order) same want.$segment out.order ;;
        esac
    done
    umount_ds mnt
}

# has_asked N: more than N times in all.
has_asked() {
    [ "$(wc -l <"origin-log.$n_origins")" -gt "$1" ]
}

for segment in shard random; do
    for first in table listing order; do
        for second in table listing order; do
            pids=""
            [ $first = $second ] || asked $first $second
        done
    done
done
