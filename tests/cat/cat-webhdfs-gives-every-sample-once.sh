#!/bin/sh
# SPDX-License-Identifier: MIT
# An epoch from HDFS is the local one, byte for byte: by a folder, a glob or braces, over our own
# connections and over libcurl, with names of any characters, page by page.  A namenode is asked once
# where a file is; sizes come from the listing.  Every range that was read is confirmed.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"
. "$top/tests/lib/webhdfs.sh"

good_shards --shards 12 --samples 10
mkdir -p "world/buckets/the set/more"
cp shards/*.tar "world/buckets/the set"
echo x >"world/buckets/the set/readme.txt"
start_webhdfs '{"page": 5}'
export HADOOP_USER_NAME=me

# By whole shards, each of which is one part; and by default.
cp want.tar default.tar
"$shufflefs" cat $quick,segment=shard shards epochs/0.tar >whole.tar

for wire in ours libcurl; do
    for source in "$hdfs/the set/" "$hdfs/the set/train-*.tar" "$hdfs/the set/train-{000000..000011}.tar"; do
        forget
        cp whole.tar want.tar
        arrives -o segment=shard ${options:-} "$source"
        not_said .
        not_asked '.tar?[^"]*", "status": [45]' # (there are no indexes)
        asked '"namenode0".*user.name=me&op='
        not_asked '"datanode.*op=GETFILESTATUS'
        n=$(requests '"namenode0".*\.tar?[^"]*op=OPEN.*"status": 307')
        [ "$n" -ge 12 ] && [ "$n" -lt 24 ] || fail "a namenode was asked $n times where 12 files are"
        n=$(requests '"datanode.*\.tar?.*"status": 200')
        [ "$n" -gt 12 ] || fail "only $n parts came"
        case $source in
        *{*) ;;
        *) [ "$(requests 'the%20set/?.*op=LISTSTATUS_BATCH')" = 3 ] || fail "not three pages" ;;
        esac
        cp default.tar want.tar
        arrives ${options:-} "$source"
        not_said .
    done
    # Through a proxy of HTTP, libcurl makes all requests.  Passwords of .netrc are not for HDFS.
    echo "machine 127.0.0.1 login x password y" >"$HOME/.netrc"
    options="-o proxy=$origin"
done
not_asked 'Basic'

# So are the second epoch, and each rank's part of it.
for stream in 1.tar 1/rank-0-of-2.tar 1/rank-1-of-2.tar; do
    "$shufflefs" cat $quick shards epochs/$stream >want2.tar
    "$shufflefs" cat $quick "$hdfs/the set/" epochs/$stream >got2.tar
    same want2.tar got2.tar
done

# The user of the URL, of the environment, or who it is.
forget
arrives "webhdfs://al%20ice@${hdfs#webhdfs://}/the set/"
not_asked 'user.name=me'
asked 'user.name=al%20ice&op=OPEN'
unset HADOOP_USER_NAME
forget
arrives "$hdfs/the set/"
asked "user.name=$(id -un)&"

# hdfs:// names no port of HTTP: endpoint= does.  It takes any number of namenodes.
arrives -o endpoint="$origin/webhdfs/v1/" "hdfs://nameservice1/the set/"
arrives -o endpoint="$origin" "hdfs:///the set/train-{000000..000011}.tar"
expect '{"standby": ["namenode0"]}'
for source in "hdfs://cluster/the set/" "hdfs://cluster/the set/train-{000000..000011}.tar"; do
    arrives -o endpoint="$origin;http://127.0.0.1:$second_namenode" "$source"
done
expect '{"dead": ["namenode0"]}'
for source in "hdfs://cluster/the set/" "hdfs://cluster/the set/train-{000000..000011}.tar"; do
    arrives -o endpoint="$origin;http://127.0.0.1:$second_namenode" "$source"
done

# Names of any characters; names in the mount are those of HDFS.
rm -rf shards/*
mkdir -p world/buckets/odd odd
i=0
for key in "a b" "a+b" "a%20b" "a%b" "é日" "a&b=c" "a'b(c)!*" "a#b" "a;b,c@d:e\$f" "[x]" 'a"<>^`b'; do
    i=$((i + 1))
    make_shards one --shards 1 --samples 5 --prefix "k$i-"
    cp one/train-000000.tar "odd/$key.tar"
    rm -r one
done
cp odd/* world/buckets/odd
expect '{"page": 2}'
"$shufflefs" cat $quick -o keys=asis odd epochs/0.tar >want.tar
arrives -o keys=asis "$hdfs/odd/"
