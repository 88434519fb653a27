#!/bin/sh
# SPDX-License-Identifier: MIT
# The samples before an error are written, all of them, before the error is reported.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"

small_shards
# The victim is the second of its lane: the first shard of each lane comes before.
flip "$(byte_of 000062.jpg)"
"$shufflefs" cat $quick,segment=shard whole epochs/0.tar >want.tar
ends_early want.tar -o segment=shard shards
[ "$(wc -c <got.tar)" -ge "$(wc -c <whole/train-000000.tar)" ] ||
    fail "only $(wc -c <got.tar) bytes before the error"
