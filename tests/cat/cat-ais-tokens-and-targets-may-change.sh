#!/bin/sh
# SPDX-License-Identifier: MIT
# In the middle of an epoch from AIStore, the token is replaced in its file, and all objects move to
# another target: nothing is lost.  An object that is replaced is an error that says so, whether the
# bucket has versions or only checksums.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"
. "$top/tests/lib/ais.sh"

make_shards data --shards 12 --samples 30 --bytes 100000
opts="-o lanes=2,buffer=64K,budget=10M"
"$shufflefs" cat $opts data epochs/0.tar >want.tar
mkdir world/buckets/bucket
cp data/* world/buckets/bucket
start_ais
expect '{"tokens": ["TOKEN-1"]}'
mkdir -p "$HOME/.config/ais/cli"
token="$HOME/.config/ais/cli/auth.token"
echo '{"token": "TOKEN-1"}' >"$token"

shards="ais://bucket/train-{000000..000011}.tar"

# ends STATUS: the epoch does.
ends() {
    finish "$1"
    keeps_secrets
}

begin $ais "$shards"
echo TOKEN-2 >new
mv new "$token"
expect '{"tokens": ["TOKEN-2"], "owner": 1}'
ends 0
same want.tar got.tar
asked '"target1".*"status": 206'
asked '"target0".*"status": 404'
asked 'Bearer TOKEN-2'

for like in '' '"versioning": false'; do
    expect "{\"buckets\": {\"bucket\": {$like}}}"
    begin $ais "$shards"
    for shard in world/buckets/bucket/*.tar; do
        cp "$shard" new
        printf x | dd of=new bs=1 seek=700 conv=notrunc status=none
        mv new "$shard"
    done
    ends 1
    said "the object changed since the mount began: its ETag was"
    n=$(wc -c <got.tar)
    cmp -n "$n" want.tar got.tar || fail "wrong bytes before the error"
    cp data/* world/buckets/bucket
done
