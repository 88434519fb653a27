#!/bin/sh
# SPDX-License-Identifier: MIT
# No redirect leads to a link-local address or to one where a cloud tells a machine its secrets: not by
# a number, in whatever notation, and not by a name that stands for one.  Nothing is sent there.
# Users may name such an address themselves, and its server may redirect to itself.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"
. "$top/tests/lib/metadata.sh"
metadata_hosts "127.0.0.1 harmless.test"

good_shards --samples 10
start_origin shards

secret_at 169.254.169.254
for host in 169.254.169.254 2852039166 0xa9fea9fe 169.254.43518 metadata.test METADATA.test; do
    refused "$origin/redirect,host=$host:$secret/$three"
    said "a redirect to 169.254.169.254, a link-local or cloud metadata address, which is not followed"
    untouched
done
# Of a shard that is being read, too, and behind a harmless one.
breaks "$origin/redirect,host=metadata.test:$secret,over=1000,only=*1.tar/$three"
said "lost: train-000001.tar.*a redirect to 169.254.169.254"
untouched
refused "$origin/redirect,to=other/redirect,host=169.254.169.254:$secret/$three"
untouched
arrives "$origin/redirect,host=harmless.test:${origin##*:}/$three"

# Who names it means it.
arrives "http://169.254.169.254:$secret/redirect/$three"
[ -s secret-log ] || fail "this server sees nobody"

secret_at fd00:ec2::254
refused "$origin/redirect,host=[fd00:ec2:0:0:0:0:0:254]:$secret/$three"
said "a redirect to .*fd00:ec2::254.*, a link-local"
untouched
