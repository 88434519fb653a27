#!/bin/sh
# SPDX-License-Identifier: MIT
# A real MinIO, filled by boto3: objects that came in one piece, and in parts, whose ETag is no
# checksum, with any names and metadata.  Each sample is there once, also for ranks; an object that
# boto3 replaces while an epoch is read is an error, and never other bytes.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"
. "$top/tests/lib/s3.sh"
. "$top/tests/lib/minio.sh"
opts="$quick"
plain_python=$python
requires_reader boto3
boto_python=$python
python=$plain_python

start_minio
owner_has_keys
cat >upload.py <<'EOF2'
import os, sys
import boto3
from boto3.s3.transfer import TransferConfig

_, endpoint, region, folder, *keys = sys.argv
s3 = boto3.client("s3", endpoint_url=endpoint, region_name=region, aws_access_key_id="AKIDONE",
                  aws_secret_access_key="SECRET-of-minio")
if not s3.list_buckets()["Buckets"]:
    s3.create_bucket(Bucket="bucket", CreateBucketConfiguration={"LocationConstraint": region})
parts = TransferConfig(multipart_threshold=5 << 20, multipart_chunksize=5 << 20)
for name, key in zip(sorted(os.listdir(folder)), keys):
    more = {"Metadata": {"made-by": "a test"}, "ContentType": "application/x-tar", "CacheControl": "no-store"}
    s3.upload_file(folder + "/" + name, "bucket", key, ExtraArgs=more, Config=parts)
    print(s3.head_object(Bucket="bucket", Key=key)["ETag"])
EOF2
upload() {
    "$boto_python" upload.py "$minio" "$minio_region" "$@" || fail "boto3: status $?"
}

make_shards shards --shards 3 --samples 300 --bytes 30000
make_shards small --shards 1 --samples 5 --prefix small-
mv small/train-000000.tar shards/zz.tar
"$shufflefs" cat $quick shards epochs/0.tar >want.tar
upload shards "a b/train-0.tar" "a b/train-1.tar" "a b/train-2.tar" "a b/zz é+%20.tar" >tags
[ "$(grep -c -- '-[0-9]*"$' tags)" = 3 ] || fail "not three objects in parts: $(cat tags)"

arrives $s3 "s3://bucket/a b/"
for rank in 0 1; do
    "$shufflefs" cat $quick $s3 "s3://bucket/a b/" epochs/1/rank-$rank-of-2.tar >rank-$rank.tar
done
"$shufflefs" cat $quick shards epochs/1.tar >want1.tar
for f in rank-0 rank-1 want1; do
    tar tf $f.tar >$f.names
done
sort rank-0.names rank-1.names >names
sort want1.names | cmp - names || fail "not each sample once in two ranks"

# Replaced meanwhile.
begin $s3 -o lanes=1,budget=32M "s3://bucket/a b/"
make_shards shards2 --shards 3 --samples 300 --bytes 30000 --prefix other-
upload shards2 "a b/train-0.tar" "a b/train-1.tar" "a b/train-2.tar" >tags2
"$shufflefs" cat $quick -o lanes=1 shards epochs/0.tar >want.tar
finish 1
cmp -n "$(wc -c <got.tar)" want.tar got.tar || fail "wrong bytes"
said "changed"
