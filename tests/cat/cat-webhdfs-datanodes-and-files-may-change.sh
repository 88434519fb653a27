#!/bin/sh
# SPDX-License-Identifier: MIT
# In the middle of an epoch from HDFS, a datanode dies, then the namenode that is active, and nothing
# is lost; bodies that end early are gone on with.  A file that is replaced is an error that says so,
# before any byte of the new one is handed on, also if it has the same size, or is shorter.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"
. "$top/tests/lib/webhdfs.sh"

make_shards data --shards 12 --samples 20 --bytes 100000
opts="-o lanes=2,buffer=64K,budget=10M"
"$shufflefs" cat $opts data epochs/0.tar >want.tar
cp data/* world/buckets
start_webhdfs
both="$origin;http://127.0.0.1:$second_namenode"

for shards in "$hdfs/" "$hdfs/train-{000000..000011}.tar"; do
    expect '{}'
    begin "$shards"
    forget
    expect '{"dead": ["datanode0"]}'
    finish 0
    same want.tar got.tar
    asked '"datanode1"'
done

expect '{"standby": ["namenode1"]}'
begin -o endpoint="$both" hdfs://cluster/
forget
expect '{"dead": ["namenode0", "datanode1"]}'
finish 0
same want.tar got.tar
asked '"namenode1"'

# There is none that is active for a while.
expect '{}'
begin -o endpoint="$both" "hdfs://cluster/train-{000000..000011}.tar"
forget
expect '{"standby": ["namenode0", "namenode1"]}'
{
    wait_until 60 grep -q '"namenode1".*"status": 403' "origin-log.$n_origins"
    expect '{"standby": ["namenode0"]}'
} &
finish 0
same want.tar got.tar

expect '{"cut": 300000}'
begin "$hdfs/"
finish 0
same want.tar got.tar

# replaced COMMAND: each file, with `new`, a copy that has another byte in it.
replaced() {
    begin "$hdfs/train-{000000..000011}.tar"
    for shard in world/buckets/*.tar; do
        cp "$shard" new
        # In all of its blocks, wherever the reader is.
        "$python" -c '
with open("new", "r+b") as file:
    for at in range(700, 3000000, 512):
        file.seek(at)
        file.write(b"x")'
        eval "$1"
        mv new "$shard"
    done
    finish 1
    said "since the mount began"
    n=$(wc -c <got.tar)
    cmp -n "$n" want.tar got.tar || fail "wrong bytes before the error"
    cp data/* world/buckets
}

expect '{}'
replaced 'truncate -s "$(stat -c %s "$shard")" new'
said "the file was replaced or touched since the mount began: its number, time and length were \"[0-9]"
replaced 'truncate -s 2048 new'
replaced 'truncate -s 8M new'
said "its size was"
keeps_secrets
