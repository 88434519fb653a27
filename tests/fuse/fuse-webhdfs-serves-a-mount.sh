#!/bin/sh
# SPDX-License-Identifier: MIT
# A mount of a folder of HDFS is the local folder: epochs, ranks, shards and samples.  A cluster that is
# killed in the middle of an epoch and a delegation token that expires cost nothing; without another token
# the error says so, and passes when there is one; replaced files are ESTALE.  3,000 names are listed by
# three requests.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"
. "$top/tests/lib/webhdfs.sh"
. "$top/tests/lib/mounted-store.sh"

serve() {
    start_origin world "${1:-0}" webhdfs.py
}

# has_token TOKEN: in Hadoop's file of tokens.
has_token() {
    echo "$1" >new-token
    mv new-token token
}

cp -r data world/buckets/set
expect '{"kerberos": true, "tokens": ["TOKEN-1"]}'
has_token TOKEN-1
export HADOOP_TOKEN_FILE_LOCATION="$work/token"
serve
hdfs="webhdfs://${origin#http://}"
store="$hdfs/set/"
mount_ds $opts $store mnt
is_the_folder
outlives_its_server

begin_epoch
has_token TOKEN-2
expect '{"kerberos": true, "tokens": ["TOKEN-2"]}'
finish_epoch
asked 'TOKEN-2'

begin_epoch
expect '{"kerberos": true, "tokens": ["TOKEN-3"]}'
epoch_breaks "Input/output error" "HTTP 403 InvalidToken"
has_token TOKEN-3
passes

begin_epoch
replace_shards world/buckets/set
epoch_breaks "Stale file handle" '"event":"changed","shard":"train-.*the file was replaced or touched since the mount began: its number'
! grep 'TOKEN-\|delegation=\|namenoderpcaddress' mnt/.shufflefs/errors || fail "a token is shown"
umount_ds mnt

make_dense 3000 2
ln -s "$PWD/dense" world/buckets/many
lists_many 3 op=LISTSTATUS_BATCH "$hdfs/many/"
