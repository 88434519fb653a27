#!/bin/sh
# SPDX-License-Identifier: MIT
# A file without any byte is no tar, and an error; a tar without members is one.
. "${srcdir:-$(dirname "$0")/..}/tests/functions.sh"
. "$top/tests/faults.sh"

small_shards
truncate -s 0 "rest/$one"
truncate -s 10240 "rest/$one"
: >"$victim"
damaged 0 "an empty file, not a tar"

for size in 512 1024 10240 1000; do
    : >"$victim"
    truncate -s $size "$victim"
    for source in shards "$origin/$three"; do
        cat_of "$source" epochs/0.tar
        [ $status = 0 ] || fail "exit status $status with $size zeros"
        "$python" "$top/tests/compare.py" rest got.tar
        [ ! -s said ] || fail "something was said"
    done
done
