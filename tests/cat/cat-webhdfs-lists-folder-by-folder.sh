#!/bin/sh
# SPDX-License-Identifier: MIT
# Folders of HDFS are listed page by page, 3,000 names on three pages without a request a shard, and
# folders below them; only those below which a pattern may mean something.  A page whose connection
# breaks is asked for again.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"
. "$top/tests/lib/webhdfs.sh"

make_dense 3000 2
mv dense world/buckets/many
start_webhdfs
for pattern in many/ "many/*" "many/**" "many/1*9.tar"; do
    forget
    "$shufflefs" ls "$hdfs/$pattern" >listed
    case $pattern in
    many/ | "many/**") "$shufflefs" ls world/buckets/many >want-listed ;;
    *) (cd world/buckets && "$shufflefs" ls "$pattern" >../../want-listed) ;;
    esac
    same want-listed listed
    [ "$(requests 'op=LISTSTATUS_BATCH')" = 3 ] || fail "not three pages"
    [ "$(requests 'op=')" -lt 20 ] || fail "$(requests 'op=') requests for 3,000 shards that were listed"
done

good_shards --shards 12
expect '{"page": 3}'
mkdir -p world/buckets/deep/y=1/m=2 world/buckets/deep/y=2/m=2 world/buckets/deep/z=1
cp shards/train-00000[0-5].tar world/buckets/deep/y=1/m=2
cp shards/train-00000[6-8].tar world/buckets/deep/y=2/m=2
cp shards/train-000009.tar shards/train-00001?.tar world/buckets/deep/z=1
for pattern in deep/ "deep/**" "deep/**/train-*.tar" "**/train-*.tar"; do
    "$shufflefs" ls "$hdfs/$pattern" >listed
    [ "$(grep -c 'train-.*tar' listed)" = 12 ] || fail "not 12 shards of $pattern: $(cat listed)"
    cat_of "$hdfs/$pattern" epochs/0.tar
    [ $status = 0 ] || fail "exit status $status"
    "$python" "$top/tests/lib/compare.py" shards got.tar
done
forget
"$shufflefs" ls "$hdfs/deep/y=*/m=*/*.tar" >listed
[ "$(grep -c 'train-.*tar' listed)" = 9 ] || fail "not 9 shards: $(cat listed)"
not_asked 'z%3D1'

start_webhdfs '{"page": 3, "breaks": 2}'
"$shufflefs" ls "$hdfs/deep/" >listed
[ "$(grep -c 'train-.*tar' listed)" = 12 ] || fail "not 12 shards: $(cat listed)"
asked '"status": "broken"'
