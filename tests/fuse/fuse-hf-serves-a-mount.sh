#!/bin/sh
# SPDX-License-Identifier: MIT
# A mount of a folder of the Hugging Face Hub is the local folder: epochs, ranks, shards and samples.  In
# the middle of an epoch nothing is lost when the Hub and its storage are killed and come up again, when
# token and signatures expire, or when the branch moves on; without another token the error says so, and
# passes when there is one; files that are others under the same commit are ESTALE.  3,000 names are listed
# by three requests.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"
. "$top/tests/lib/hf.sh"
. "$top/tests/lib/mounted-store.sh"

serve() {
    start_origin world "${1:-0}" hf.py
}

# has_token TOKEN: in the file `token`.
has_token() {
    echo "$1" >new-token
    mv new-token token
}

mkdir -p world/datasets/me/it/one
ln -s "$PWD/data" world/datasets/me/it/one/set
expect '{"tokens": ["TOKEN-1"], "private": true}'
has_token TOKEN-1
export HF_TOKEN_PATH="$work/token"
serve
store="-o endpoint=$origin hf://datasets/me/it/set/"
mount_ds $opts $store mnt
is_the_folder
outlives_its_server

begin_epoch
has_token TOKEN-2
expect '{"tokens": ["TOKEN-2"], "private": true, "signature": "2"}'
finish_epoch
asked '"storage".*"status": 403'
asked 'Bearer TOKEN-2'

begin_epoch
mkdir -p world/datasets/me/it/two/set
expect '{"tokens": ["TOKEN-2"], "private": true, "signature": "3", "revisions": {"main": "two"}}'
finish_epoch

begin_epoch
expect '{"tokens": ["TOKEN-3"], "private": true, "signature": "4"}'
epoch_breaks "Input/output error" "HTTP 401: the token from the file '.*token' is not valid, or has expired"
has_token TOKEN-3
passes

begin_epoch
replace_shards data
epoch_breaks "Stale file handle" '"event":"changed","shard":"train-.*the object changed since the mount began: its ETag was'
! grep 'SECRET\|Signature=\|TOKEN-' mnt/.shufflefs/errors || fail "a secret is shown"
not_asked '"storage".*"authorization"'
umount_ds mnt

make_dense 3000 2
mkdir -p world/datasets/me/many/one
ln -s "$PWD/dense" world/datasets/me/many/one/set
lists_many 3 /tree/ -o endpoint=$origin hf://datasets/me/many/set/
