#!/bin/sh
# SPDX-License-Identifier: MIT
# A file without any byte is no tar, and refused as others that are none; a tar without members is
# one.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"

small_shards
truncate -s 0 "rest/$one"
truncate -s 10240 "rest/$one"
: >"$victim"
for source in shards "$origin/$three"; do
    refused "$source"
    said "^shufflefs: 1 of 3 shards is not a tar file: .*/$one is an empty file, not a tar; on-error=skip leaves it out$"
    cat_of -o on-error=skip "$source" epochs/0.tar
    [ $status = 0 ] || fail "exit status $status with on-error=skip"
    "$python" "$top/tests/lib/compare.py" rest got.tar
    said "^shufflefs: 1 of 3 shards is not a tar file: .*/$one is an empty file, not a tar; it is left out$"
    said "^shufflefs: skip: $one @ 0: an empty file, not a tar"
    [ "$(wc -l <said)" = 2 ] || fail "said: $(cat said)"
done

for size in 512 1024 10240 1000; do
    : >"$victim"
    truncate -s $size "$victim"
    for source in shards "$origin/$three"; do
        cat_of "$source" epochs/0.tar
        [ $status = 0 ] || fail "exit status $status with $size zeros"
        "$python" "$top/tests/lib/compare.py" rest got.tar
        [ ! -s said ] || fail "something was said"
    done
done
