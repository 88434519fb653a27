#!/bin/sh
# SPDX-License-Identifier: MIT
# With on-error=skip a shard that is not there is an empty one; one that is forbidden, or
# goes missing while it is read, is an error all the same.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"

good_shards
start_origin shards
mkdir rest
cp shards/train-000000.tar shards/train-000002.tar rest

# leaves_out SOURCE
leaves_out() {
    cat_of -o on-error=skip "$1" epochs/0.tar
    [ $status = 0 ] || fail "exit status $status"
    "$python" "$top/tests/lib/compare.py" rest got.tar
    said "1 of 3 shards is missing: .*train-000001.tar: .*; it is left out"
    [ "$(wc -l <said)" = 1 ] || fail "not said once"
}

leaves_out "$origin/404,only=*1.tar/$three"
mv shards/train-000001.tar away
leaves_out "shards/$three"
cat_of "shards/$three" epochs/0.tar
[ $status = 1 ] || fail "exit status $status without the shard"
said "lost: train-000001.tar: .*No such file or directory"
mv away shards/train-000001.tar

cat_of -o on-error=skip "$origin/403,only=*1.tar/$three" epochs/0.tar
[ $status = 1 ] || fail "exit status $status, though it is forbidden"
said "lost: train-000001.tar: .*HTTP 403"
breaks -o on-error=skip "$origin/404,over=1000,only=*1.tar/$three"
said "lost: train-000001.tar @ 0: .*HTTP 404"
