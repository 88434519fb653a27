#!/bin/sh
# SPDX-License-Identifier: MIT
# What follows the end of a shard must be zeros: two tars in one file, of which other
# readers silently read the first only, and junk, are errors.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"

# by_default: with random segments, a sample of the second tar may be seen before its beginning is.
by_default() {
    for source in shards "$origin/$three"; do
        cat_of -o on-error=skip "$source" epochs/0.tar
        [ $status = 0 ] || fail "exit status $status with on-error=skip"
        "$python" "$top/tests/lib/compare.py" rest got.tar
        for seed in 0 1 2 3; do
            cat_of -o seed=$seed "$source" epochs/0.tar
            [ $status = 1 ] || fail "exit status $status, not 1, with seed=$seed"
            said "epochs/0.tar: read error at byte [0-9]*: $one @ "
            said "data after the end of the archive\|a member holds what looks like a tar"
        done
    done
}

small_shards
default=$quick
quick=$quick,segment=shard
end=$(stat -c %s "$victim")
cat "whole/train-000000.tar" >>"$victim"
damaged "$end" "data after the end of the archive (two tars in one file?)"
quick=$default
by_default
quick=$quick,segment=shard

cp "whole/$one" shards
echo "not found" >>"$victim"
damaged "$end" "data after the end of the archive"
quick=$default
by_default

# Zeros may follow, as many as one likes, and not in whole blocks.
cp "whole/$one" shards
truncate -s +12345 "$victim"
cat_of shards epochs/0.tar
[ $status = 0 ] || fail "exit status $status with more zeros"
"$python" "$top/tests/lib/compare.py" whole got.tar
