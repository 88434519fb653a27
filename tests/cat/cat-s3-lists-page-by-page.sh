#!/bin/sh
# SPDX-License-Identifier: MIT
# 3,000 shards are listed in three requests, and their sizes are not asked for; the order is the
# local one.  A folder below a glob's is not listed.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"
. "$top/tests/lib/s3.sh"

make_dense 3000 2
mkdir -p world/buckets/bucket
ln -s "$PWD/dense" world/buckets/bucket/many
mkdir dense/deeper
cp dense/0.tar dense/deeper/no.tar
start_s3
has_keys AKIDONE SECRET/one+1
"$shufflefs" cat -o keys=asis dense epochs/0.tar >want.tar
# (With less memory, some samples of one block are read one by one, and look as sizes do.)
"$shufflefs" cat $s3 -o keys=asis,budget=1G "s3://bucket/many/*.tar" epochs/0.tar >got.tar
same want.tar got.tar
n=$(requests 'list-type=2')
[ "$n" = 3 ] || fail "$n pages"
[ "$(requests 'deeper')" = 0 ] || fail "a deeper folder was read"
n=$(requests '.tar", .*bytes=0-511"')
[ "$n" -lt 30 ] || fail "$n sizes were asked for"

# "**" is for all folders below.
"$shufflefs" ls $s3 "s3://bucket/**/many/**" >ls.out
grep -c '\.tar$' ls.out | grep -qx 3001 || fail "not all of them: $(tail -1 ls.out)"
