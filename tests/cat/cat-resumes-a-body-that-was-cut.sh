#!/bin/sh
# SPDX-License-Identifier: MIT
# A body that ends early is asked for again from the last good byte, and every sample
# arrives exactly once.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"

good_shards
start_origin shards
arrives "$origin/cut,at=30000,times=1/$three"
said "retry: train-00000[0-2].tar @ 30000: .*retry 1 in [0-9]* ms"
asked 'train-000001.*"range": "bytes=30000-'
[ "$(grep -c '"range": "bytes=30000-' origin-log.1)" = 3 ] || fail "not once for each shard"

# Also in the first bytes, in the last one, and over and over as long as there is progress.
arrives "$origin/cut,at=0,after=1,times=1/$three"
arrives "$origin/cut,at=700000,times=1/cut,at=600000,times=1/cut,at=1000,times=1/$three"
arrives "$origin/cut,bytes=70000,over=70000/$three"

# And if it always ends there, that is an error which names shard, byte and cause.
breaks $brief "$origin/cut,at=30000,only=*1.tar/$three"
said "lost: train-000001.tar @ 30000: $origin/.*train-000001.tar: .*remaining to read"
