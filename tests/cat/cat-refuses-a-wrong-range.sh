#!/bin/sh
# SPDX-License-Identifier: MIT
# Bytes of another range than the one asked for are never taken.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"

good_shards
start_origin shards
for fault in wrongstart,by=512 wrongend,by=512; do
    arrives "$origin/$fault,over=1000,at=300000,times=1/$three"
    said "retry: train-00000..tar @ [0-9]*: asked for bytes [0-9]*-[0-9]*, got [0-9]*-[0-9]*"
    breaks "$origin/$fault,over=1000,at=300000,only=*2.tar/$three"
    said "lost: train-000002.tar @ [0-9]*: .*asked for bytes"
done

# Another total is another object.
breaks "$origin/wrongtotal,by=512,over=1000,only=*1.tar/$three"
said "changed: train-000001.tar .*its size was [0-9]*, is [0-9]*"
said "read error at byte [0-9]*: .*the object changed since the mount began"

# And when the size is asked for.
refused "$origin/wrongstart,by=512/$three"
said "Content-Range"
