#!/bin/sh
# SPDX-License-Identifier: MIT
# A mount of a prefix in Azure is the local folder: epochs, ranks, shards and samples.  A server that is
# killed in the middle of an epoch and a SAS that is revoked cost nothing; without another SAS the error
# says so, and passes when there is one; replaced blobs are ESTALE.  3,000 names are listed by three
# requests.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"
. "$top/tests/lib/azure.sh"
. "$top/tests/lib/mounted-store.sh"

serve() {
    start_origin world "${1:-0}" azure.py
}

# sig_of FILE: the signature of a SAS, decoded.
sig_of() {
    "$python" -c 'import sys, urllib.parse; print(urllib.parse.parse_qs(open(sys.argv[1]).read().strip())["sig"][0])' "$1"
}

mkdir world/buckets/con
ln -s "$PWD/data" world/buckets/con/set
expect "$usual"
has_sas con 3600
serve
store="-o endpoint=$origin/acct,sas-file=$work/sas az://con/set/"
mount_ds $opts $store mnt
is_the_folder
outlives_its_server

begin_epoch
old=$(sig_of sas)
has_sas con 7200
expect "{\"revoked\": [\"$old\"]}"
finish_epoch
asked '"status": 403'

begin_epoch
expect "{\"revoked\": [\"$(sig_of sas)\"]}"
epoch_breaks "Input/output error" "HTTP 403 AuthenticationFailed: the SAS from the file '.*sas' is not valid"
has_sas con 7300
passes

begin_epoch
replace_shards data
epoch_breaks "Stale file handle" '"event":"changed","shard":"train-.*the object changed since the mount began: its ETag was'
! grep 'sig=[^.]' mnt/.shufflefs/errors || fail "a SAS is shown"
umount_ds mnt

make_dense 3000 2
ln -s "$PWD/dense" world/buckets/con/many
expect '{"page": 1000}'
lists_many 3 comp=list -o endpoint=$origin/acct,sas-file=sas az://con/many/
