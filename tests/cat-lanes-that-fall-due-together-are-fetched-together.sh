#!/bin/sh
# SPDX-License-Identifier: MIT
# Shards of one size run dry at one time.  Their lanes are asked for at one time, too, and
# not one behind the other, each when a reader waits for it.
. "${srcdir:-$(dirname "$0")/..}/tests/functions.sh"

# Some parts a lane, and far more lanes than connections.
order=lanes=64,buffer=1M,budget=200M,connections=4
make_shards data --shards 1 --samples 150 --bytes 20000
for i in $(seq 63); do
    ln data/train-000000.tar "data/train-$(printf %06d "$i").tar"
done
start_origin data
"$shufflefs" cat -o $order data epochs/0.tar >want
"$shufflefs" cat -o $order,retries=1000 "$origin/late,ms=100,over=512/train-{000000..000063}.tar" \
    epochs/0.tar >got
same want got

# The connection used last is used first: where there is only one request at a time, one
# connection gets all of them.
"$python" - "origin-log.$n_origins" <<'EOF' || fail "one at a time"
import json, sys
peers = [r["peer"] for r in map(json.loads, open(sys.argv[1]))
         if r["headers"]["range"] != "bytes=0-511"]
alone = sum(a == b for a, b in zip(peers, peers[1:]))
print(len(peers), "requests,", alone, "of them alone")
sys.exit(len(peers) < 200 or alone > 15)
EOF
