#!/bin/sh
# SPDX-License-Identifier: MIT
# Compressed bytes are never taken for the shard's, though a server may send them unasked.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"

good_shards
start_origin shards
refused "$origin/gzip/$three"
said "Content-Encoding 'gzip', which was not asked for"
breaks "$origin/gzip,over=1000,only=*1.tar/$three"
said "lost: train-000001.tar @ 0: .*Content-Encoding 'gzip'"
not_asked '"accept-encoding": ".*gzip'
