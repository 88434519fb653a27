#!/bin/sh
# SPDX-License-Identifier: MIT
# A real Hadoop, into which its own client has put the files: epochs of a folder, a glob or braces are
# the local ones, whatever characters the names have; 3,000 names are listed page by page; a datanode or
# a namenode that is killed and comes back in the middle of an epoch loses nothing, and a file that is
# replaced is ESTALE.  webhdfs.py gives the same answers.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"
. "$top/tests/lib/webhdfs.sh"
. "$top/tests/lib/hadoop.sh"

start_hadoop
make_shards data --shards 12 --samples 30 --bytes 100000
mkdir odd
cp data/train-000000.tar "odd/a b+%é.tar"
cp data/train-000001.tar "odd/it's,100%25&c=d.tar"
head -c 3000000 /dev/urandom >some
mkdir -p "world/buckets/the set" world/buckets/closed
cp some "world/buckets/the set/a b+%é.tar"
: >"world/buckets/the set/empty.tar"
cp some world/buckets/closed/a.tar
# 3,000 names, and shards among them.
mkdir world/buckets/many
cp data/train-000000.tar data/train-000005.tar world/buckets/many
many=$(seq -f %06g.txt 3000)
(cd world/buckets/many && touch $many)

# (One call for each thing that a URL's characters would hide.)
client -mkdir "/the set" /closed
client -put data /
client -mkdir /many
client -touchz $(echo "$many" | sed 's|^|/many/|')
client -cp /data/train-000000.tar /data/train-000005.tar /many
client -put some "/the set/a b+%é.tar"
client -put some /closed/a.tar
client -touchz "/the set/empty.tar"
client -mkdir /odd
client -cp /data/train-000000.tar "/odd/a b+%é.tar"
client -cp /data/train-000001.tar "/odd/it's,100%25&c=d.tar"
client -chmod 700 /closed

opts="-o lanes=2,buffer=64K,budget=10M"
for epoch in 0 1; do
    "$shufflefs" cat $opts data epochs/$epoch.tar >want$epoch.tar
    for source in "$hdfs/data/" "$hdfs/data/train-*.tar" "$hdfs/data/train-{000000..000011}.tar" \
        "-o endpoint=$hadoop hdfs:///data/"; do
        # shellcheck disable=SC2086 # the last one has an option
        "$shufflefs" cat $opts $source epochs/$epoch.tar >got.tar
        same want$epoch.tar got.tar
    done
done
"$python" "$top/tests/lib/compare.py" data want1.tar
for rank in 0 1; do
    "$shufflefs" cat $opts data epochs/0/rank-$rank-of-2.tar >want.tar
    "$shufflefs" cat $opts "$hdfs/data/" epochs/0/rank-$rank-of-2.tar >got.tar
    same want.tar got.tar
done
mv want0.tar want.tar
"$shufflefs" cat odd epochs/0.tar >want-odd.tar
"$shufflefs" cat "$hdfs/odd/" epochs/0.tar >got.tar
same want-odd.tar got.tar
"$shufflefs" ls "$hdfs/many/" >listed
"$shufflefs" ls world/buckets/many >want-listed
same want-listed listed
"$shufflefs" ls "$hdfs/**/train-*[05].tar" >listed
[ "$(grep -c 'train-.*tar' listed)" = 5 ] || fail "not five shards: $(cat listed)"

# refuses WORDS SOURCE
refuses() {
    refused "$2"
    said "$1"
    keeps_secrets
}
refuses "FileNotFoundException: there is no folder /none/" "$hdfs/none/"
refuses "FileNotFoundException: no such file" "$hdfs/none.tar"
refuses "it is a folder; to name all \*.tar below it" "$hdfs/data"
refuses "is a file: write it without the '/'" "$hdfs/data/train-000000.tar/"
refuses "AccessControlException: the user 'you' may not read it" "webhdfs://you@${hdfs#webhdfs://}/closed/"
refuses "AccessControlException: the user 'you' may not read it" "webhdfs://you@${hdfs#webhdfs://}/closed/a.tar"
refuses "this is the port of Hadoop's RPC" "webhdfs://127.0.0.1:$hadoop_rpc/data/"
refuses "this is a datanode" "webhdfs://127.0.0.1:$hadoop_datanode/data/"

# The stand-in.
start_origin world 0 webhdfs.py
expect '{"page": 100, "private": ["/closed"]}'
read -r second_namenode datanode0 datanode1 rpc <world/ports
"$python" "$top/tests/lib/webhdfs-questions.py" "$hadoop" "$origin" "$hadoop_rpc" "$rpc" || fail "webhdfs.py is another"

begin "$hdfs/data/"
kill_pid $datanode_pid
start_datanode
finish 0
same want.tar got.tar

begin "$hdfs/data/"
kill_pid $namenode_pid
start_namenode
finish 0
same want.tar got.tar

wait_until 60 is_ready
begin "$hdfs/data/train-{000000..000011}.tar"
for shard in data/*.tar; do
    "$python" - "$shard" <<'EOF2'
import sys
with open(sys.argv[1], "r+b") as file:
    size = file.seek(0, 2)
    for at in range(700, size - 1024, 512):
        file.seek(at)
        file.write(b"x")
EOF2
done
client -put -f data /
finish 1
said "the file was replaced or touched since the mount began: its number, time and length were"
n=$(wc -c <got.tar)
cmp -n "$n" want.tar got.tar || fail "wrong bytes before the error"
