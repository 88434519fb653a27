#!/bin/sh
# SPDX-License-Identifier: MIT
# Too many requests (429): the Hub says by RateLimit when it may be asked again, and the mount waits, while it
# lists, while it asks where shards are, and when the storage says so.  One line each, and nothing is lost.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"
. "$top/tests/lib/hf.sh"

make_shards data --shards 12 --samples 30 --bytes 100000
opts="-o connections=1,lanes=4,buffer=64K,budget=10M"
"$shufflefs" cat $opts data epochs/0.tar >want.tar
mkdir -p world/datasets/me/it/one
cp data/* world/datasets/me/it/one
start_hf

# left_alone NODE: after its first 429 the node got no request for 4 s (but two that were late, and so
# were under way already).
left_alone() {
    "$python" - "$1" "origin-log.$n_origins" <<'END'
import json, sys
log = [json.loads(line.strip("\0")) for line in open(sys.argv[2])]
log = [r for r in log if r["node"] == sys.argv[1]]
first = next(i for i, r in enumerate(log) if r["status"] == 429)
waits = [r["time"] - log[first]["time"] for r in log[first + 1:]]
print(waits[:9])
sys.exit(len([w for w in waits if w < 4]) > 2)
END
}

# While it lists.
expect '{"busy": {"api": 4}}'
rm -f said
"$shufflefs" cat $opts $hf hf://datasets/me/it/ epochs/0.tar >got.tar 2>said &
reader=$!
wait_until 60 grep -q "HTTP 429" said
expect '{}'
wait $reader || fail "exit status $?"
same want.tar got.tar
said "retry: $origin/api/datasets/me/it/revision/main?\*\*\*: HTTP 429 (too many requests), retry in [45][0-9]* ms, as the server says"
[ "$(wc -l <said)" = 1 ] || fail "not one line: $(cat said)"
left_alone hub

# While it asks for the first shards, before the mount is certain.
forget
expect '{"busy": {"resolvers": 4}}'
rm -f said
"$shufflefs" cat $opts $hf hf://datasets/me/it/ epochs/0.tar >got.tar 2>said &
reader=$!
wait_until 60 grep -q "HTTP 429" said
expect '{}'
wait $reader || fail "exit status $?"
same want.tar got.tar
said "retry: $origin: HTTP 429 (too many requests), retry in [45][0-9]* ms"
[ "$(grep -c "retry: " said)" = 1 ] || fail "not one line: $(cat said)"

# While it asks where shards are, and the storage.  (What was asked before is remembered, so all expires.)
for node in resolvers storage; do
    forget
    expect '{}'
    begin $hf "hf://datasets/me/it/train-{000000..000011}.tar"
    expect '{"busy": {"'$node'": 4}, "signature": "2"}'
    cat <&3 >>got.tar &
    reader=$!
    wait_until 60 grep -q "HTTP 429" said
    expect '{"signature": "2"}'
    wait $reader
    finish 0
    same want.tar got.tar
    said "retry: http://127.0.0.1:[0-9]*: HTTP 429 (too many requests), retry in [45][0-9]* ms, as the server says; "
    [ "$(wc -l <said)" = 1 ] || fail "not one line: $(cat said)"
    case $node in
    resolvers) left_alone hub ;;
    storage) left_alone storage ;;
    esac
done
