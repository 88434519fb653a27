#!/bin/sh
# SPDX-License-Identifier: MIT
# A file of AIStore's token that holds another one by now, and looks as before, is read again after a
# SIGHUP.  (Such a file is one of /proc, with the name of a host of our own.)
[ -n "${HAS_HOST:-}" ] || [ "$(id -u)" != 0 ] || HAS_HOST=1 exec unshare --uts sh "$0" "$@"
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"
. "$top/tests/lib/ais.sh"
requires_fuse
requires_root

make_shards data --shards 3
mkdir -p world/buckets/bucket
cp data/* world/buckets/bucket
start_ais
expect '{"tokens": ["TOKEN-1"]}'
export AIS_AUTHN_TOKEN_FILE=/proc/sys/kernel/hostname
token() {
    "$python" -c 'import socket, sys; socket.sethostname(sys.argv[1])' "$1"
}
token TOKEN-1
mkdir mnt
"$shufflefs" mount -f $ais,index-cache=no,log-level=info "ais://bucket/train-{000000..000002}.tar" mnt 2>said &
daemon=$!
wait_until 30 test -e mnt/README
cat mnt/epochs/0.tar >/dev/null

# (For an object that has moved, the proxy is asked again, with the token.)
token TOKEN-2
expect '{"tokens": ["TOKEN-2"], "owner": 1}'
kill -HUP $daemon
wait_until 30 grep -q "SIGHUP: reading .* tokens again" said
cat mnt/epochs/1.tar >got.tar || fail "the old token is still sent"
"$shufflefs" cat data epochs/1.tar >want.tar
same want.tar got.tar
asked 'Bearer TOKEN-2'
keeps_secrets
umount_ds mnt
wait $daemon || fail "exit status $?"
