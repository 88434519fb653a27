#!/bin/sh
# SPDX-License-Identifier: MIT
# 3,000 shards in Google Cloud Storage are listed in three requests, and their sizes are not asked
# for; the order is the local one.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"
. "$top/tests/lib/gcs.sh"

make_dense 3000 2
mkdir -p world/buckets/bucket
ln -s "$PWD/dense" world/buckets/bucket/many
start_gcs
has_token TOKEN.one
"$shufflefs" cat -o keys=asis dense epochs/0.tar >want.tar
# (With less memory, some samples of one block are read one by one, and look as sizes do.)
"$shufflefs" cat $gs -o keys=asis,budget=1G "gs://bucket/many/" epochs/0.tar >got.tar
same want.tar got.tar
n=$(requests 'list-type=2')
[ "$n" = 3 ] || fail "$n pages"
not_asked 'encoding-type' # of which it is not documented how it writes a '+'
n=$(requests '.tar", .*bytes=0-511"')
[ "$n" -lt 30 ] || fail "$n sizes were asked for"
