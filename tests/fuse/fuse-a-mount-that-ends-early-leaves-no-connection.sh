#!/bin/sh
# SPDX-License-Identifier: MIT
# A mount that is ended while it connects to a far server, ahead of any stream, ends at once,
# with all that it had begun.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
requires_fuse
[ "$(id -u)" = 0 ] && [ -z "${TEST_TOGETHER:-}" ] || skip "needs a network of its own"

# n_connecting: handshakes with the origin that are not answered.
n_connecting() {
    awk -v to="$(printf %04X "${origin##*:}")" '$3 ~ ":" to "$" && $4 == "02"' /proc/net/tcp | wc -l
}
connects() {
    [ "$(n_connecting)" -ge 40 ]
}

make_shards shards --shards 3
mkdir mnt
for tls in "" yes; do
    [ -z "$tls" ] || speaks_tls
    touch shards/far
    start_origin shards 0 far.py
    "$shufflefs" mount -f -o connections=40 "$origin/train-{000000..000002}.tar" mnt 2>said &
    mount=$!
    wait_until 30 connects
    kill -TERM $mount
    timeout $patience tail --pid=$mount -f /dev/null || fail "still there after $patience s"
    [ "$(n_connecting)" -le 1 ] || fail "$(n_connecting) handshakes are left" # (one is far.py's)
    ! grep -qs " $work/mnt " /proc/self/mounts || fail "mounted"
done
