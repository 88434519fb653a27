#!/bin/sh
# SPDX-License-Identifier: MIT
# A list or an index of shards at a URL names no shard, and no further index, at a link-local address or at
# one where a cloud tells a machine its secrets: not by a number, in whatever notation, and not by a name
# that stands for one.  Nothing is sent there.  Such a list that is there itself may, and so may users.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"
. "$top/tests/lib/metadata.sh"
metadata_hosts

good_shards --samples 10
# lists URL...: shards/list.txt names these.
lists() {
    printf '%s\n' "$@" >shards/list.txt
}
start_origin shards

secret_at 169.254.169.254
for host in 169.254.169.254 2852039166 0xa9fea9fe 169.254.43518 metadata.test METADATA.test; do
    lists train-000000.tar "http://$host:$secret/train-000001.tar" train-000002.tar
    refused "@$origin/list.txt"
    said "a link-local or cloud metadata address"
    untouched
done
# A number is seen when the list is read, and the line is named.
lists train-000000.tar "http://169.254.169.254:$secret/train-000001.tar"
refused "@$origin/list.txt"
said "list.txt:2: 169.254.169.254 is a link-local or cloud metadata address: a list at another server may not name it"

echo '{"wids_version": 1, "shardlist": [{"url": "http://metadata.test:'"$secret"'/train-000001.tar", "nsamples": 10}]}' >shards/index.json
refused "$origin/index.json"
said "169.254.169.254 is a link-local"
echo '{"wids_version": 1, "shardlist": [], "datasets": [{"source_url": "http://metadata.test:'"$secret"'/index.json"}]}' >shards/index.json
refused "$origin/index.json"
said "169.254.169.254 is a link-local"
lists "webhdfs://169.254.169.254:$secret/a/train-000001.tar"
refused "@$origin/list.txt"
said "169.254.169.254 is a link-local"
untouched

# Who names it means it, and so does a list of their own, or one that is there.
lists "http://169.254.169.254:$secret/train-000000.tar" "http://metadata.test:$secret/train-000001.tar" \
    "http://169.254.169.254:$secret/train-000002.tar"
arrives @shards/list.txt
arrives "http://169.254.169.254:$secret/$three"
lists train-000000.tar train-000001.tar train-000002.tar
arrives "@http://169.254.169.254:$secret/list.txt"
[ -s secret-log ] || fail "this server sees nobody"

secret_at fd00:ec2::254
lists train-000000.tar "http://[fd00:ec2:0:0:0:0:0:254]:$secret/train-000001.tar"
refused "@$origin/list.txt"
said "list.txt:2: .*fd00:ec2.* is a link-local"
untouched
