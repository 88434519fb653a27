#!/bin/sh
# SPDX-License-Identifier: MIT
# What follows the end of a shard must be zeros: two tars in one file, of which other
# readers silently read the first only, and junk, are errors.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"

small_shards
end=$(stat -c %s "$victim")
cat "whole/train-000000.tar" >>"$victim"
damaged "$end" "data after the end of the archive (two tars in one file?)"

cp "whole/$one" shards
echo "not found" >>"$victim"
damaged "$end" "data after the end of the archive"

# Zeros may follow, as many as one likes, and not in whole blocks.
cp "whole/$one" shards
truncate -s +12345 "$victim"
cat_of shards epochs/0.tar
[ $status = 0 ] || fail "exit status $status with more zeros"
"$python" "$top/tests/lib/compare.py" whole got.tar
