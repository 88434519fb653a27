#!/bin/sh
# SPDX-License-Identifier: MIT
# Of a folder that NVIDIA's energon has prepared, split= takes a part: the shards that split.yaml
# or split.json name, without those that are excluded.  What shufflefs cannot leave out is refused;
# and without split= nothing has changed.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"

make_shards ds/parts --shards 6 --samples 20 --bytes 2000
mkdir ds/.nv-meta
printf '{"energon_version": "7.3.0", "shard_counts": {' >ds/.nv-meta/.info.json
for n in 0 1 2 3 4 5; do
    printf '"parts/train-00000%d.tar": 20%s' $n "$([ $n = 5 ] || echo ,)"
done >>ds/.nv-meta/.info.json
echo '}}' >>ds/.nv-meta/.info.json
yaml=$("$shufflefs" --version | grep -c "libyaml" || :)

# split NAME TEXT: .nv-meta/NAME, and no other.
split() {
    rm -f ds/.nv-meta/split.*
    printf '%s\n' "$2" >"ds/.nv-meta/$1"
}

# gives PART NUMBER...: the part has these shards, in this order.
gives() {
    part=$1
    shift
    for n in "$@"; do
        echo "ds/parts/train-00000$n.tar"
    done >list
    "$shufflefs" cat $quick @list epochs/0.tar >want.tar
    arrives -o "split=$part" ds
    [ ! -s said ] || fail "$(cat said)"
}

fails() {
    refused -o "split=$1" ds
    said "$2"
}

split split.json '{
    "split_parts": {"train": ["parts/train-{000004..000002}.tar", "parts/train-000000.tar"], "val": ["parts/train-000005.tar"], "test": []},
    "exclude": ["parts/train-00000{3,1}.tar", "parts/train-000005.tar/key", "nothing.tar"]}'
gives train 4 2 0
fails val "split.json: the sample 'parts/train-000005.tar/key' is excluded, but shufflefs leaves out whole shards"
fails test "split.json: the part 'test' has no shards"
fails valid "split.json: it has no part 'valid', only: train, val, test"
"$shufflefs" ls --json -o split=train ds >out
[ "$(grep -o '"samples": *20' out | wc -l)" = 3 ] || fail "no counts: $(cat out)"

split split.json '{"split_parts": {"train": ["parts/train-000000.tar"]}, "shards": 3}'
fails train "split.json: line 1: 'shards' is not understood"
split split.json '{"split_parts": {"train": ["parts/train-000000.tar"'
fails train "split.json: line 2"

if [ "$yaml" != 0 ]; then
    split split.yaml 'exclude:
- parts/train-000002.tar
split_parts:
  # as energon prepare writes it
  train:
  - parts/train-{000003..000001}.tar
  val: ["parts/train-000005.tar"]
  test: []'
    gives train 3 1
    gives val 5
    split split.yaml 'split_parts: &a
  train: [x.tar]'
    fails train "split.yaml: line 1: anchors and aliases are not read"
    split split.yaml 'split_parts:
   train:
  - a'
    fails train "split.yaml: line 3: "
    cp ds/.nv-meta/.info.json info
    rm ds/.nv-meta/.info.json
    printf 'energon_version: 5.0\nshard_counts:\n  parts/train-000005.tar: 20\n' >ds/.nv-meta/.info.yaml
    split split.yaml 'split_parts: {val: [parts/train-000005.tar]}'
    gives val 5
    "$shufflefs" ls --json -o split=val ds | grep -q '"samples": *20' || fail "no counts"
    rm ds/.nv-meta/.info.yaml
    mv info ds/.nv-meta/.info.json
fi

# Without split=.
split split.json '{"split_parts": {"train": ["train-000001.tar"]}}'
refused ds
said "energon has prepared the folder .*/ds: say which part of it, as in split=train"
cp -r ds/.nv-meta ds/parts/
"$shufflefs" ls ds/parts >out 2>said
[ "$(wc -l <out)" = 6 ] || fail "$(cat out)"
said "^shufflefs: energon has divided $work/ds/parts into parts, and all were taken: split=train takes one$"
"$shufflefs" ls -o split=train ds/parts >out 2>said || fail "$(cat said)"
[ "$(wc -l <out)" = 1 ] || fail "$(cat out)"
[ ! -s said ] || fail "$(cat said)"

# Other sources have no parts.
mkdir ds2
cp ds/parts/train-000000.tar ds2
echo ds/parts/train-000000.tar >list
echo '{"wids_version": 1, "shardlist": [{"url": "ds/parts/train-000000.tar"}]}' >index.json
for source in "ds*" "ds/parts/*" "ds/parts::ds2" @list index.json "ds/parts/train-000000.tar" "ds/*/*.tar" "ds/parts::ds/.nv-meta" "http://127.0.0.1/x.tar"; do
    refused -o split=train "$source"
    said "split=train: '.*' is no folder that energon has prepared"
done
