#!/bin/sh
# SPDX-License-Identifier: MIT
# A real MinIO: an epoch of a prefix, a glob or braces is the local one, whatever characters its
# keys have, signed or not; 3,000 keys are listed on three pages; what is wrong is one line.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"
. "$top/tests/lib/s3.sh"
. "$top/tests/lib/minio.sh"

start_minio
owner_has_keys
client bucket bucket
good_shards --shards 6
client put shards bucket "the set/"
for source in "s3://bucket/the set/" "s3://bucket/the set/train-*[0-9].tar" \
    "s3://bucket/the set/train-{000000..000005}.tar"; do
    arrives $s3 "$source"
done

# refuses WORDS [OPTION...] SOURCE
refuses() {
    words=$1
    shift
    refused $s3 "$@"
    said "$words"
    not_said 'SECRET'
}

refuses "NoSuchBucket: there is no bucket 'missing'" s3://missing/x/
refuses "NoSuchBucket" s3://missing/x.tar
refuses "nothing is below s3://bucket/none/: check the name" s3://bucket/none/
refuses "NoSuchKey: no such object" s3://bucket/none.tar
refuses "leave out 'anonymous'" -o anonymous "s3://bucket/the set/"
for source in "s3://bucket/the set/" "s3://bucket/the set/train-000000.tar"; do
    has_keys AKIDTWO SECRET-of-minio
    refuses "InvalidAccessKeyId: the server does not know the access key from profile 'default'" "$source"
    has_keys AKIDONE SECRET-of-others
    refuses "SignatureDoesNotMatch: the secret access key from profile 'default' is not" "$source"
done
owner_has_keys

# The region that the server tells is used.
arrives -o "endpoint=$minio,log-level=info" "s3://bucket/the set/"
said "the bucket 'bucket' is in the region $minio_region: region=$minio_region saves a request"
arrives -o "endpoint=$minio" "s3://bucket/the set/train-{000000..000005}.tar"

client public bucket
arrives $s3 -o anonymous "s3://bucket/the set/"

# Keys of any characters.
mkdir odd
i=0
for key in "a b" "a+b" "a%20b" "a%b" "é日" "a&b=c" "a'b(c)!" "a~b_c-d.e" "a#b" "a;b,c@d:e\$f" "[x]"; do
    i=$((i + 1))
    make_shards one --shards 1 --samples 5 --prefix "k$i-"
    mv one/train-000000.tar "odd/$key.tar"
    rm -r one
done
client put odd bucket odd/
"$shufflefs" cat $quick odd epochs/0.tar >want.tar
arrives $s3 s3://bucket/odd/

# Three pages.
make_dense 3000 2
tar cf dense.tar --hard-dereference -C dense .
client unpack dense.tar bucket many
"$shufflefs" ls $s3 s3://bucket/many/ >listed
"$shufflefs" ls dense >want-listed
same want-listed listed
"$shufflefs" ls $s3 "s3://bucket/many/1*9.tar" >listed
"$shufflefs" ls "dense/1*9.tar" >want-listed
same want-listed listed
