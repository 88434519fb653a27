#!/bin/sh
# SPDX-License-Identifier: MIT
# cat, plan, bench and index say how many shards are missing, and which is the first, in one
# line: as their error, or with on-error=skip as all that they have to say.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"

make_shards shards --shards 8 --samples 10
rm shards/train-000002.tar shards/train-000005.tar
start_origin shards
all="train-{000000..000007}.tar"

# counts STATUS THEN COMMAND...: it ends so, and says that in one line.
counts() {
    wanted=$1
    then=$2
    shift 2
    status=0
    "$shufflefs" "$@" >out 2>said || status=$?
    [ $status = "$wanted" ] || fail "exit status $status, not $wanted, of: $*: $(cat said)"
    said "^shufflefs: 2 of 8 shards are missing, the first: .*/train-000002.tar: .*; $then$"
    [ "$(wc -l <said)" = 1 ] || fail "not one line of: $*: $(cat said)"
}

for source in "shards/$all" "$origin/$all"; do
    for skip in "fail 1 on-error=skip leaves them out" "skip 0 they are left out"; do
        on_error="--on-error=${skip%% *}"
        status_then=${skip#* }
        set -- "${status_then%% *}" "${status_then#* }"
        counts "$@" cat "$on_error" "$source" epochs/0.tar
        counts "$@" cat "$on_error" "$source" epochs/0.order
        counts "$@" cat "$on_error" -o segment=sample "$source" epochs/0@3.tar
        counts "$@" plan "$on_error" --batch=8 "$source"
        counts "$@" bench "$on_error" --seconds=1 --stages=source,order "$source"
        rm -rf indexes
        counts "$@" index "$on_error" --to=indexes "$source"
        [ "$(ls indexes | wc -l)" = 6 ] || fail "not all indexes that can be"
    done
    # What needs no other shard is there.
    "$shufflefs" cat "$source" shards/train-000001.tar >got.tar 2>said
    same shards/train-000001.tar got.tar
    [ ! -s said ] || fail "$(cat said)"
    status=0
    "$shufflefs" cat "$source" shards/train-000002.tar >got.tar 2>said || status=$?
    [ $status = 1 ] || fail "exit status $status without the shard"
    said "^shufflefs: shards/train-000002.tar: .*train-000002.tar: "
    [ "$(wc -l <said)" = 1 ] || fail "not one line: $(cat said)"
done
