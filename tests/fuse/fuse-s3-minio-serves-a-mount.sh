#!/bin/sh
# SPDX-License-Identifier: MIT
# A mount of a prefix of a real MinIO, by TLS: two epochs, ranks, shards and samples are the local
# ones; a server that is killed and comes up again in the middle of an epoch costs nothing; objects
# that are replaced are ESTALE.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"
. "$top/tests/lib/s3.sh"
. "$top/tests/lib/minio.sh"
requires_fuse
requires openssl
unset CURL_CA_BUNDLE SSL_CERT_FILE SSL_CERT_DIR

mkdir certs
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj "/CN=MinIO" -addext subjectAltName=IP:127.0.0.1 \
    -keyout certs/private.key -out certs/public.crt 2>openssl-log
export CURL_CA_BUNDLE="$work/certs/public.crt"
start_minio
owner_has_keys
client bucket bucket
make_alike 12 --samples 30 --bytes 100000
client put data bucket set/
opts="-o lanes=6,buffer=64K,budget=12M,index-cache=no"

unset CURL_CA_BUNDLE
refused $opts $s3 s3://bucket/set/
said "certificate"
export CURL_CA_BUNDLE="$work/certs/public.crt"

mount_ds $opts $s3 s3://bucket/set/ mnt
"$shufflefs" cat $opts data epochs/0.tar >want.tar
"$python" "$top/tests/lib/compare.py" data mnt/epochs/0.tar
for part in epochs/0 epochs/1 epochs/2/rank-0-of-3 epochs/2/rank-1-of-3 epochs/2/rank-2-of-3; do
    "$shufflefs" cat $opts data $part.tar >want
    same want mnt/$part.tar
done
same data/train-000007.tar mnt/shards/train-000007.tar
member=$(tar tf data/train-000000.tar | sed -n 7p)
tar xOf data/train-000000.tar "$member" | cmp - "mnt/samples/train-000000.tar/$member" || fail "another sample"

# Killed, and started again once it was missed.
"$shufflefs" cat $opts data epochs/3.tar >want.tar
exec 3<mnt/epochs/3.tar
head -c 100000 <&3 >got.tar
kill_minio
cat <&3 >>got.tar &
reader=$!
exec 3<&-
wait_until 30 grep -q '"event":"outage"' mnt/.shufflefs/errors
start_minio "${minio##*:}"
wait $reader || fail "the epoch could not be read"
same want.tar got.tar

# All are replaced by others of the same size.
mkdir new
for shard in data/*.tar; do
    cp "$shard" new
    printf x | dd of="new/${shard##*/}" bs=1 seek=700 conv=notrunc status=none
done
"$shufflefs" cat $opts data epochs/4.tar >want.tar
exec 3<mnt/epochs/4.tar
head -c 100000 <&3 >got.tar
client put new bucket set/
! cat <&3 >>got.tar 2>said || fail "the epoch of replaced objects can be read"
exec 3<&-
said "Stale file handle"
cmp -n "$(wc -c <got.tar)" want.tar got.tar || fail "wrong bytes before the error"
errors_have mnt '"event":"changed","shard":"train-'
umount_ds mnt
