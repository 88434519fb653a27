#!/bin/sh
# SPDX-License-Identifier: MIT
# A shard whose ETag changes is ESTALE, never bytes of two versions: whether the server
# minds If-Match or not.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"

good_shards
start_origin shards
for fault in etag etag,blind; do
    breaks "$origin/$fault,after=1,only=*1.tar/$three"
    said "changed: train-000001.tar @ [0-9]*: .*its ETag was \"[0-9a-f-]*\", is \"changed\""
    said "read error at byte [0-9]*: .*the object changed since the mount began"
    # In the middle: the answer after a cut body is of another version.
    # (One connection: a part after the other.)
    breaks -o connections=1 "$origin/$fault,after=2,only=*1.tar/cut,at=300000,times=1/$three"
    said "changed: train-000001.tar @ [0-9]*: .*its ETag was"
done
asked '"if-match": "\\"'

# Skip is for damage in a shard's bytes, not for this.
breaks -o on-error=skip "$origin/etag,after=1,only=*1.tar,skipping/$three"
said "epochs/0.tar: \(read error at byte [0-9]*: \)\{0,1\}train-000001.tar @ .*the object changed since the mount began"
