#!/bin/sh
# SPDX-License-Identifier: MIT
# A mount of a prefix in Google Cloud Storage is the local folder: epochs, ranks, shards and samples.  A
# server that is killed in the middle of an epoch and a token that expires cost nothing; without another
# token the error says so, and passes when there is one; replaced objects are ESTALE.  3,000 keys are
# listed by three requests.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"
. "$top/tests/lib/gcs.sh"
. "$top/tests/lib/mounted-store.sh"

serve() {
    start_origin world "${1:-0}" gcs.py
}

mkdir world/buckets/bucket
ln -s "$PWD/data" world/buckets/bucket/set
expect "$usual"
has_token TOKEN.one
serve
store="-o endpoint=$origin gs://bucket/set/"
mount_ds $opts $store mnt
is_the_folder
outlives_its_server

begin_epoch
has_token TOKEN.two
expect '{"tokens": ["TOKEN.two"]}'
finish_epoch
asked 'Bearer TOKEN.two'

begin_epoch
expect '{"tokens": ["TOKEN.three"]}'
epoch_breaks "Input/output error" "HTTP 401 AuthenticationRequired: the access token from the file '.*token' has expired or is not valid"
has_token TOKEN.three
passes

begin_epoch
replace_shards data
epoch_breaks "Stale file handle" '"event":"changed","shard":"train-.*the object changed since the mount began: its ETag was'
! grep 'TOKEN' mnt/.shufflefs/errors || fail "a token is shown"
umount_ds mnt

make_dense 3000 2
ln -s "$PWD/dense" world/buckets/bucket/many
lists_many 3 list-type=2 -o endpoint=$origin gs://bucket/many/
