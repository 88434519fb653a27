#!/bin/sh
# SPDX-License-Identifier: MIT
# An object of S3 that is replaced in the middle of an epoch, by one of the same size, is an
# error that says so.  So is one that was replaced between the listing and the first request.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"
. "$top/tests/lib/s3.sh"

make_shards data --shards 12 --samples 30 --bytes 100000
opts="-o lanes=2,buffer=64K,budget=10M"
"$shufflefs" cat $opts data epochs/0.tar >want.tar
mkdir -p world/buckets
mv data world/buckets/bucket
start_s3
has_keys AKIDONE SECRET/one+1

mkfifo fifo
{
    "$shufflefs" cat $opts $s3 s3://bucket/ epochs/0.tar >fifo 2>said && echo 0 >status || echo $? >status
} &
exec 3<fifo
head -c 100000 <&3 >got.tar
for shard in world/buckets/bucket/*.tar; do
    cp "$shard" new
    printf x | dd of=new bs=1 seek=700 conv=notrunc status=none
    mv new "$shard"
done
cat <&3 >>got.tar
exec 3<&-
wait_until 60 test -s status
sed "s/^/| /" said >&2
[ "$(cat status)" = 1 ] || fail "exit status $(cat status)"
said "the object changed since the mount began: its ETag was"
n=$(wc -c <got.tar)
cmp -n "$n" want.tar got.tar || fail "wrong bytes before the error"
