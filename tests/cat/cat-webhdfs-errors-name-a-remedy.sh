#!/bin/sh
# SPDX-License-Identifier: MIT
# What is wrong with a name, a user, a port, a token or a namenode of HDFS is said in one line with
# what to do.  No token and no redirect is shown.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"
. "$top/tests/lib/webhdfs.sh"

good_shards
mkdir -p world/buckets/set
cp shards/*.tar world/buckets/set
echo x >world/buckets/set/x.txt
start_webhdfs
here=${hdfs#webhdfs://}

# refuses WORDS [OPTION...] SOURCE
refuses() {
    words=$1
    shift
    refused "$@"
    said "$words"
    keeps_secrets
}

refuses "'hdfs:///set/' names no namenode: write webhdfs://HOST:9870/..., or set endpoint=" hdfs:///set/
refuses "'webhdfs:///set/x.tar' names no namenode" webhdfs:///set/x.tar
refuses "webhdfs://127.0.0.1:1: WebHDFS takes no password: write only the name" webhdfs://me:TOKEN-1@127.0.0.1:1/x.tar
refuses "'webhdfs://a:b/x' has no valid port number" webhdfs://a:b/x
refuses "'host:9' is not an endpoint" -o "endpoint=host:9" hdfs://x/set/
refuses "component '.' or '..'" "$hdfs/a/../x.tar"
refuses "cannot list $hdfs/missing/: HTTP 404 FileNotFoundException: there is no folder /missing/" "$hdfs/missing/"
refuses "HTTP 404 FileNotFoundException: no such file" "$hdfs/set/missing.tar"
refuses "no such file; to name all \*.tar below a folder" "$hdfs/missing"
refuses "it is a folder; to name all \*.tar below it, put a '/' at its end" "$hdfs/set"
refuses "/set/train-000000.tar/ is a file: write it without the '/'" "$hdfs/set/train-000000.tar/"
refuses "no object matches $hdfs/set/\*.tgz" "$hdfs/set/*.tgz"
refuses "3 shards are missing" "$hdfs/set/test-{0..2}.tar"
for source in set/ set/train-000000.tar; do
    refuses "HTTP 404: this is the port of Hadoop's RPC: name that of the namenode's HTTP" "webhdfs://127.0.0.1:$rpc/$source"
    [ "$source" != set/ ] || refuses "HTTP 400 IllegalArgumentException: this is a datanode: name the namenode" "webhdfs://127.0.0.1:$datanode0/$source"
    refuses "HTTP 404: there is no WebHDFS here: check the port" -o "endpoint=$origin/path" "hdfs://x/$source"
    refusing_port
    refuses "Failed to connect\|refused" "webhdfs://127.0.0.1:$refusing/$source"

    expect '{"private": ["/set"]}'
    refuses "HTTP 403 AccessControlException: the user 'you' may not read it: name another, as in webhdfs://NAME@" "webhdfs://you@$here/$source"
    arrives "webhdfs://root@$here/set/"
    expect '{"standby": ["namenode0"]}'
    refuses "HTTP 403 StandbyException: the namenode is a standby one: name all namenodes, as in endpoint='http" "$hdfs/$source"
    expect '{"kerberos": true, "tokens": ["TOKEN-1"]}'
    refuses "HTTP 401.*: the namenode wants Kerberos, and refused the ticket, or there is none: run kinit\|is not made for" "$hdfs/$source"
    echo TOKEN-2 >token
    export HADOOP_TOKEN_FILE_LOCATION="$PWD/token"
    refuses "HTTP 403 InvalidToken: the delegation token from the file '$PWD/token' is not valid, or has expired: get a new one" "$hdfs/$source"
    unset HADOOP_TOKEN_FILE_LOCATION
    expect '{}'
done
refuses "cannot list hdfs://127.0.0.1:[0-9]*/set/: hdfs:// does not say the port of HTTP, so 9870 was tried; if it is another, set endpoint=: " "hdfs://127.0.0.1:$rpc/set/"
expect '{"safe": true}'
refuses "HTTP 403 SafeModeException: the namenode is in safe mode and does not know yet where the blocks are" "$hdfs/set/train-000000.tar"
HADOOP_TOKEN_FILE_LOCATION="$PWD/none" refuses "the delegation token from the file '$PWD/none': .*No such file" "$hdfs/set/"
printf 'HDTS\001xyz' >token
HADOOP_TOKEN_FILE_LOCATION="$PWD/token" refuses "token': it holds no token, neither in Hadoop's format (version 0), nor as text" "$hdfs/set/"
