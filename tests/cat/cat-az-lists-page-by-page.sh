#!/bin/sh
# SPDX-License-Identifier: MIT
# 3,000 shards in Azure are listed in three requests of 1,000, and their sizes are not asked for; the
# order is the local one.  A folder below a glob's is not listed.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"
. "$top/tests/lib/azure.sh"

make_dense 3000 2
mkdir -p world/buckets/con
ln -s "$PWD/dense" world/buckets/con/many
start_azure
expect '{"page": 1000}'
export AZURE_STORAGE_KEY=$azure_key
"$shufflefs" cat -o keys=asis dense epochs/0.tar >want.tar
mkdir dense/deeper
cp dense/0.tar dense/deeper/no.tar
# (With less memory, some samples of one block are read one by one, and look as sizes do.)
"$shufflefs" cat $az -o keys=asis,budget=1G "az://con/many/*.tar" epochs/0.tar >got.tar
same want.tar got.tar
n=$(requests 'comp=list')
[ "$n" = 3 ] || fail "$n pages"
[ "$(requests 'deeper')" = 0 ] || fail "a deeper folder was read"
n=$(requests '.tar", .*bytes=0-511"')
[ "$n" -lt 30 ] || fail "$n sizes were asked for"
