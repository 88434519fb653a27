#!/bin/sh
# SPDX-License-Identifier: MIT
# Keys of S3 that still work stay in use, although their file has others by now; after a SIGHUP those
# are used, and a file of keys that is half written or gone by then changes nothing.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"
. "$top/tests/lib/s3.sh"
requires_fuse

make_shards data --shards 2
mkdir -p world/buckets
ln -s "$PWD/data" world/buckets/bucket
start_s3
expect '{"keys": {"ONE": {"secret": "SECRET-1"}, "TWO": {"secret": "SECRET-2"}, "THREE": {"secret": "SECRET-3"}}}'
has_keys ONE SECRET-1
mkdir mnt
"$shufflefs" mount -f $s3,index-cache=no,next-epoch=no,log-level=info s3://bucket/ mnt 2>said &
daemon=$!
wait_until 30 test -e mnt/README

# reads: another epoch, all of it, asked for anew.
epoch=0
reads() {
    epoch=$((epoch + 1))
    forget
    cat mnt/epochs/$epoch.tar >got.tar || fail "epoch $epoch"
    "$shufflefs" cat data epochs/$epoch.tar >want.tar
    same want.tar got.tar
}
# hup: and wait until it was taken.
hups=0
hup() {
    hups=$((hups + 1))
    kill -HUP $daemon
    wait_until 30 sh -c '[ "$(grep -c "SIGHUP: reading .* again" said)" = '$hups' ]'
}

has_keys TWO SECRET-2
reads
asked 'Credential=ONE'
not_asked 'Credential=TWO'
hup
uses() {
    reads
    ! grep -q "Credential=$2" "origin-log.$n_origins" && grep -q "Credential=$1" "origin-log.$n_origins"
}
wait_until 30 uses TWO ONE

printf '[default]\naws_access_key_id = THR' >"$HOME/.aws/credentials"
hup
uses TWO THREE || fail "half a file was taken"
rm "$HOME/.aws/credentials"
hup
uses TWO THREE || fail "the keys are gone"
has_keys THREE SECRET-3
hup
wait_until 30 uses THREE TWO

not_said SECRET
umount_ds mnt
wait $daemon || fail "exit status $?"
