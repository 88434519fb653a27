#!/bin/sh
# SPDX-License-Identifier: MIT
# A lane whose next sample is larger than a block has that sample ahead, too, and a reader
# does not wait for each of them.
. "${srcdir:-$(dirname "$0")/..}/tests/functions.sh"

order=lanes=48,buffer=1M,budget=300M,connections=4
make_shards data --shards 1 --samples 3 --bytes 1500000
for i in $(seq 47); do
    ln data/train-000000.tar "data/train-$(printf %06d "$i").tar"
done
start_origin data
"$shufflefs" cat -o $order data epochs/0.tar >want
"$shufflefs" cat -o $order "$origin/late,ms=100,over=512/train-{000000..000047}.tar" \
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
sys.exit(len(peers) < 150 or alone > 60)
EOF
