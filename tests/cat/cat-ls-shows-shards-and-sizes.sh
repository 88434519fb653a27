#!/bin/sh
# SPDX-License-Identifier: MIT
# `shufflefs ls` prints each shard with its size, in the dataset's order, also as JSON; of a
# missing one it says so.  It says what in a folder is no shard; so does `plan`, and `cat` does
# not.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"

make_shards data --shards 3 --samples 5
(cd data && stat -c '%s %n' *.tar) >want
start_origin data
query="?sig=SECRET"

# Each line as "SIZE NAME".
lists() {
    "$shufflefs" ls "$@" >out 2>said || fail "exit status of ls $*: $(cat said)"
    sed 's/^ *//; s/  */ /' out | cmp - want || fail "ls $*: $(cat out)"
}

lists data
[ ! -s said ] || fail "$(cat said)"
lists "$origin/train-{000000..000002}.tar$query"

"$shufflefs" ls --json "$origin/{train-000000,none,train-000001}.tar$query" >out 2>said && fail "exit status 0"
"$python" - "$origin" <<'EOF' || fail "$(cat out)"
import json, os, sys

found = json.load(open("out"))
sizes = [os.path.getsize("data/train-00000%d.tar" % i) for i in range(2)]
shards = found["shards"]
assert [s["name"] for s in shards] == ["train-000000.tar", "none.tar", "train-000001.tar"], found
assert [s["bytes"] for s in shards] == [sizes[0], None, sizes[1]], found
assert [s["source"] for s in shards] == [sys.argv[1] + "/" + s["name"] + "?***" for s in shards], found
assert [s.get("error") for s in shards] == [None, "No such file or directory", None], found
assert found["n_shards"] == 3 and found["n_bytes"] == sum(sizes), found
EOF
said "^shufflefs: 1 of 3 shards is missing: $origin/none.tar.*: HTTP 404; on-error=skip leaves it out$"
"$shufflefs" ls -o on-error=skip "$origin/train-000000.tar" "$origin/{train-000001,none,train-000002}.tar" >out 2>said ||
    fail "exit status with on-error=skip"
said "^shufflefs: 1 of 4 shards is missing: .*; it is left out$"
grep -q '^ *-  none.tar$' out && [ "$(wc -l <out)" = 4 ] || fail "$(cat out)"

# What else a folder has.
touch data/README data/train-000001.tar.md5 data/x.tar.gz data/.hidden
"$shufflefs" cat data shards/train-000000.idx >train.idx 2>said || fail "$(cat said)"
mv train.idx data/train-000000.idx
mkdir data/more
for command in "ls data" "plan --batch=4 data"; do
    "$shufflefs" $command >out 2>said || fail "$(cat said)"
    said "^shufflefs: 3 entries of $work/data were not taken: README, more/, x.tar.gz$"
    [ "$(wc -l <said)" = 1 ] || fail "$(cat said)"
done
for command in "cat data epochs/0.tar" "index --to=to data" "ls data/train-000000.tar"; do
    "$shufflefs" $command >out 2>said || fail "$(cat said)"
    [ ! -s said ] || fail "$command: $(cat said)"
done

"$shufflefs" ls >out 2>said && fail "ls of nothing"
said "ls needs a SOURCE"
