#!/bin/sh
# SPDX-License-Identifier: MIT
# `shufflefs bench` reads a whole epoch at each stage, of local shards and by HTTP, and says so
# for people and as JSON; what cannot be read is an error.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"

make_shards data --shards 7 --samples 40 --bytes 3000
make_shards data --shards 1 --samples 0 --name empty.tar
start_origin data

# found FILE STAGES: the JSON has the stages, each of which has read the whole dataset.
found() {
    "$python" - "$@" <<'EOF'
import glob, json, os, sys

found = json.load(open(sys.argv[1]))
assert found["shards"] == 8 and found["processors"] > 0 and found["connections"] > 0, found
assert [s["stage"] for s in found["stages"]] == ["reach"] + sys.argv[2:], found
size = sum(os.path.getsize(p) for p in glob.glob("data/*.tar"))
for stage in found["stages"][1:]:
    assert stage["epoch_ended"] and not stage["still_filling"], stage
    assert 0 < stage["first_s"] <= stage["seconds"], stage
    assert stage["bytes_per_s"] > 0, stage
    if stage["stage"] == "source":
        assert stage["bytes"] == size, (stage, size)
    else: # samples only: no ends of tars
        assert 0.8 * size < stage["bytes"] < size, (stage, size)
        mean = stage["bytes_per_s"] / stage["samples_per_s"]
        assert abs(mean / (stage["bytes"] / 280) - 1) < .01, (stage, mean)
assert found["limit"] in (None, *sys.argv[2:]), found
assert "The epoch ended early (%s)" % ", ".join(sys.argv[2:]) in found["verdict"], found
EOF
}

for source in data "$origin/train-{000000..000006}.tar $origin/empty.tar"; do
    for options in -olanes=4 -obuffer=1M,segment=4K "-oconnections=1 --budget=16M -o lanes=3"; do
        "$shufflefs" bench $options --seconds=60 --json --stages=source,order $source >found 2>said ||
            fail "$options: $(cat said)"
        [ ! -s said ] || fail "$(cat said)"
        found found source order
    done
done
"$shufflefs" bench --json --stages order data >found
found found order

# For people; parts are larger than shards, and smaller.
make_shards large --shards 2 --samples 20 --bytes 300000
"$shufflefs" bench --stages=source,order large >found
for words in "^large: 2 shards$" "^reach .* sizes per second$" "^source  " "^order  " "^The epoch"; do
    grep -q "$words" found || fail "no '$words': $(cat found)"
done
if grep -q "^mount" found; then fail "$(cat found)"; fi

# What is wrong is said in one line.
refused() {
    words=$1
    shift
    if "$shufflefs" bench "$@" >found 2>said; then fail "bench $*"; fi
    grep -q "$words" said || fail "bench $*: $(cat said)"
    [ ! -s found ] || fail "bench $* prints"
}
refused "bench needs a SOURCE" --seconds 3
refused "not a number from 1" --seconds=0 data
refused "not a comma-separated list of source, order and mount" --stages=source,, data
refused "not a comma-separated list of source, order and mount" --stages=cached data
refused "takes no value" --json=1 data
refused "No such file" none.tar
refused "404" --stages=source "$origin/none.tar"
refused "1 of 3 shards is missing: .*none.tar: HTTP 404" "$origin/{train-000000,none,train-000001}.tar"

# A shard that goes away after its size was known: no stage has a result that hides it.
refused "403" -o retries=0 --stages=source "$origin/403,after=1/train-{000000..000006}.tar"

# What was measured before a failure is printed, and the exit status says that it failed.
junk 20000 >data/bad.tar
if "$shufflefs" bench --stages=source,order data >found 2>said; then fail "a damaged shard"; fi
grep -q "^source  " found || fail "$(cat found)"
if grep -q "^order  " found; then fail "$(cat found)"; fi
grep -q "epochs/1.tar: read error at byte" said || fail "$(cat said)"
