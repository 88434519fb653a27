#!/bin/sh
# SPDX-License-Identifier: MIT
# A shard that grows or shrinks while it is read is ESTALE, with any validators or none.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"

good_shards
start_origin shards
for fault in size,by=512 size,by=-512 size,by=-700000; do
    for tag in "" /bare; do
        breaks "$origin$tag/$fault,after=1,only=*1.tar/$three"
        said "changed: train-000001.tar"
        said "read error at byte [0-9]*: .*the object changed since the mount began"
        breaks -o verify=size "$origin$tag/$fault,after=1,only=*1.tar,size-only/$three"
        said "read error at byte [0-9]*: .*the object changed since the mount began"
    done
done
