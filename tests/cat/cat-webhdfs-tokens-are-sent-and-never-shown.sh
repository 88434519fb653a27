#!/bin/sh
# SPDX-License-Identifier: MIT
# A delegation token, in Hadoop's own format, as JSON or as text, opens HDFS where it wants Kerberos;
# with it no name of a user is sent.  A token that is replaced in its file is used from then on, in
# the middle of an epoch; nothing is lost, and nothing of it is shown.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"
. "$top/tests/lib/webhdfs.sh"

make_shards data --shards 6 --samples 30 --bytes 100000
opts="-o lanes=2,buffer=64K,budget=10M"
"$shufflefs" cat $opts data epochs/0.tar >want.tar
cp data/* world/buckets
start_webhdfs '{"kerberos": true, "tokens": ["TOKEN-1"]}'
export HADOOP_TOKEN_FILE_LOCATION="$PWD/token"

# Hadoop's format: a job's token, and one of HDFS of 300 bytes.
"$python" - >token 2>binary <<'EOF2'
import base64, sys

def field(b):
    return (bytes([len(b)]) if len(b) < 128 else b"\x8e" + len(b).to_bytes(2, "big")) + b

def token(kind, n):
    return field(bytes(range(256)) * (n // 256) + b"i" * (n % 256)) + field(b"password") + field(kind) + field(b"127.0.0.1:8020")

job, hdfs = token(b"mapreduce.job", 9), token(b"HDFS_DELEGATION_TOKEN", 300)
sys.stdout.buffer.write(b"HDTS\0\2" + field(b"job") + job + field(b"hdfs") + hdfs)
print(base64.urlsafe_b64encode(hdfs).decode().rstrip("="), file=sys.stderr, end="")
EOF2
expect '{"kerberos": true, "tokens": ["'"$(cat binary)"'"]}'
for source in "$hdfs/" "$hdfs/train-{000000..000005}.tar"; do
    arrives "$source"
    not_said .
done
not_asked 'user.name='
asked '"datanode.*delegation='

echo '{"Token":{"urlString":"TOKEN-1"}}' >token
expect '{"kerberos": true, "tokens": ["TOKEN-1"]}'
begin "$hdfs/train-{000000..000005}.tar"
echo TOKEN-2 >new
mv new token
expect '{"kerberos": true, "tokens": ["TOKEN-2"]}'
finish 0
same want.tar got.tar
asked 'TOKEN-2'
keeps_secrets

# A job's file may have none of HDFS: then it is the user's name.
printf 'HDTS\0\1\1a\1b\1c\1d\1e' >token
expect '{}'
forget
arrives "$hdfs/"
asked 'user.name='
