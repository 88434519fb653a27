#!/bin/sh
# SPDX-License-Identifier: MIT
# `ls -l` of a shard with many members needs no request for each: their attributes come with
# their names, and access lists and labels are asked for once.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
requires_fuse

make_dense 1 20000
mount_ds dense mnt
pid=$(daemon_pid mnt)
# How often its threads have waited: once at least for each request.
waits() {
    cat /proc/"$pid"/task/*/status | awk '/^voluntary/ {n += $2} END {print n}'
}
was=$(waits)
[ "$(ls -l mnt/samples/0.tar | wc -l)" = 20001 ] || fail "not all are listed"
now=$(waits)
echo "ls -l: $((now - was)) waits"
[ $((now - was)) -lt 8000 ] || fail "a request for each"
"$python" -c 'import os
assert sum(e.stat().st_nlink for e in os.scandir("mnt/samples/0.tar")) == 20000'
[ $(($(waits) - now)) -lt 8000 ] || fail "a request for each, again"
umount_ds mnt
