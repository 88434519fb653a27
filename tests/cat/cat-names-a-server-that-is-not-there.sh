#!/bin/sh
# SPDX-License-Identifier: MIT
# A name that nobody knows, and a port where nobody listens, are errors that say so: for
# all shards, and for one of them.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"

good_shards
refusing_port
start_origin shards
refused "http://name.invalid/$three"
said "http://name.invalid/train-000000.tar: .*resolve"
refused "http://127.0.0.1:$refusing/$three"
said "http://127.0.0.1:$refusing/train-000000.tar: .*onnect"

for url in http://name.invalid http://127.0.0.1:$refusing; do
    refused "$origin/train-000000.tar" "$url/train-000001.tar"
    said "$url/train-000001.tar: "
done

# And behind a redirect, when the epoch has begun.
breaks $brief "$origin/redirect,to=dead,port=$refusing,over=1000,only=*1.tar/$three"
said "lost: train-000001.tar @ 0: http://127.0.0.1:$refusing/train-000001.tar: .*onnect"
