#!/bin/sh
# SPDX-License-Identifier: MIT
# An index of shards in JSON, as the wids library writes it, is a source: its shards are those of
# its list and of its datasets, in their order, by URLs that are relative to the file or to a
# base.  A size in it that is wrong is said, and changes no byte; its counts are used.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"

make_shards data --shards 4 --samples 30 --bytes 2000
start_origin data

# index FILE EXPRESSION: what wids would write, as Python; shard(N) is one of the list.
index() {
    "$python" - "$1" "$2" "$origin" <<'END'
import json, os, sys
path, expression, origin = sys.argv[1:]
def shard(n, folder="data/", **more):
    name = "train-%06d.tar" % n
    return dict({"url": folder + name, "md5sum": "x", "nsamples": 30,
                 "filesize": os.path.getsize("data/" + name)}, **more)
spec = {"__kind__": "wids-shard-index-v1", "wids_version": 1, "name": "test", "info": {"a": [1]}}
spec.update(eval(expression))
json.dump(spec, open(path, "w"), indent=2)
END
}

# list NUMBER...: want.tar is the epoch of these shards, in this order.
list() {
    for n in "$@"; do
        echo "data/train-00000$n.tar"
    done >list
    "$shufflefs" cat $quick @list epochs/0.tar >want.tar
}

# gives NUMBER...: index.json is a dataset of these shards.
gives() {
    list "$@"
    arrives index.json
    [ ! -s said ] || fail "$(cat said)"
}

index index.json '{"shardlist": [shard(2), shard(0), shard(3)]}'
gives 2 0 3
(cd data && "$shufflefs" cat $quick ../index.json epochs/0.tar) >got.tar # relative to the file
same want.tar got.tar
mv index.json my.index.json
arrives "my.index.json"
arrives "*.index.json"
(cat my.index.json; echo) >index.json

# Counts and sizes.
"$shufflefs" ls --json index.json >out
"$python" - <<'END' || fail "$(cat out)"
import json
assert [s["samples"] for s in json.load(open("out"))["shards"]] == [30, 30, 30]
END
index index.json '{"shardlist": [shard(0), shard(1, nsamples=10), shard(2, nsamples=10), shard(3, nsamples=10)]}'
"$shufflefs" plan --batch=4 index.json >out 2>said || fail "$(cat said)"
"$shufflefs" plan --batch=4 data >out2 2>said || fail "$(cat said)"
grep -q "^dataset  *4 shards, .* samples (by the counts of an index; --exact counts all)$" out || fail "$(cat out)"
! cmp -s out out2 || fail "the counts make no difference"
index index.json '{"shardlist": [shard(2), shard(0, filesize=12345), shard(3, filesize=7, nsamples=1)]}'
list 2 0 3
arrives index.json
said "^shufflefs: 2 of 3 shards have another size than the index says, which may be old; the first: train-000000.tar has [0-9]* bytes, not 12345$"
[ "$(wc -l <said)" = 1 ] || fail "$(cat said)"

# A base, and datasets.
index index.json '{"base": "data", "shardlist": [shard(1, ""), shard(0, "./x/../")]}'
gives 1 0
index index.json '{"base": origin, "shardlist": [shard(1, ""), shard(0, "/none/../")]}'
gives 1 0
asked train-000001.tar
index index.json '{"base": origin + "/none/deeper/", "shardlist": [shard(1, "../../"), shard(0, origin + "/"), shard(3, "/")]}'
gives 1 0 3
mkdir other
index other/second.json '{"shardlist": [shard(2, "../data/")]}'
index index.json '{"datasets": [{"name": "a", "weight": 2, "shardlist": [shard(3)]}, {"source_url": "other/second.json"}], "shardlist": [shard(0)]}'
gives 0 3 2

# A shard that is there twice is taken once.
index index.json '{"shardlist": [shard(1), shard(0), shard(1)]}'
list 1 0
arrives index.json
said "a shard is named more than once, and taken once: .*/train-000001.tar"

# fails WORDS: index.json is refused, in one line.
fails() {
    refused index.json
    said "$1"
}
index index.json '{"wids_version": 2, "shardlist": [shard(0)]}'
fails "index.json is no index of shards (wids): line 3: 'wids_version' is not 1"
index index.json '{"__kind__": "other", "shardlist": [shard(0)]}'
fails "'__kind__' is not wids-shard-index-v1"
index index.json '{"shardlist": [{"nsamples": 3}]}'
fails "a shard has no 'url'"
index index.json '{"shardlist": []}'
fails "index.json: it names no shards"
index index.json '{"shardlist": [shard(0, "pipe:cat ")]}'
fails "'pipe:' is refused"
index index.json '{"datasets": [{"source_url": origin + "/x.json"}]}'
fails "cannot read $origin/x.json: HTTP 404: check its name"
index other/third.json '{"datasets": [{"source_url": "second.json"}]}'
index index.json '{"datasets": [{"source_url": "other/third.json"}]}'
fails "third.json: it names datasets itself"
echo '{"a": 1}' >index.json
fails "index.json is no index of shards (wids): line 2: it has no 'shardlist'"
echo 'data/train-000000.tar' >index.json
fails "index.json is no index of shards (wids): line 1"
refused "$origin/index.json?sig=SECRET"
said "cannot read $origin/index.json?\*\*\*: HTTP 404: check its name"
not_said SECRET
