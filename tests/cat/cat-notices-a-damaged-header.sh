#!/bin/sh
# SPDX-License-Identifier: MIT
# One flipped bit in a header, or a header of zeros, is an error there: never the end of
# the shard, and never half a sample.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"

small_shards
jpg=$(byte_of 000062.jpg)
cls=$(byte_of 000062.cls)

# In a name, a size, a type and a checksum.
keep_before 000061.jpg
for at in 3 134 156 150; do
    cp "whole/$one" shards
    flip $((jpg + at))
    damaged "$jpg" "wrong header checksum"
done
keep_before 000062.jpg
cp "whole/$one" shards
flip $((cls + 3))
damaged "$cls" "wrong header checksum"

# The sample whose second header is gone is not shown without it.
cp "whole/$one" shards
zero "$cls" 512
damaged "[0-9]*" "data after the end of the archive"

# All the rest, and the first one.
cp "whole/$one" shards
flip 3
: >"rest/$one"
truncate -s 1024 "rest/$one"
damaged 0 "wrong header checksum"
