#!/bin/sh
# SPDX-License-Identifier: MIT
# A server that always fails at one byte of each shard: what came before that is used, not
# thrown away with the rest of its request.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"

good_shards
start_origin shards
for fault in cut rst stall; do
    breaks $brief "$origin/$fault,at=300000,over=1000/$three"
    [ "$(wc -c <got.tar)" -ge 200000 ] || fail "$fault: only $(wc -c <got.tar) bytes"
done
