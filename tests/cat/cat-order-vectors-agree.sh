#!/bin/sh
# SPDX-License-Identifier: MIT
# The published vectors, and the worked examples of docs/ORDER.md, are what a script
# that was written from that page alone computes, and vectors of tars are what shufflefs
# reads; a wrong vector is noticed.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"

"$python" "$top/tests/lib/order-vectors.py"
"$python" "$top/tests/lib/order-vectors.py" --with "$shufflefs" "$top/tests/data/order-vectors-tars.json"

# broken EXPRESSION: change the vectors `v` so; then they must not agree.
broken() {
    "$python" -c "
import json, sys
with open(sys.argv[1]) as file:
    v = json.load(file)
$1
json.dump(v, sys.stdout)" "$top/tests/data/$file.json" >broken.json
    ! "$python" "$top/tests/lib/order-vectors.py" broken.json >said 2>&1 ||
        fail "agrees with wrong vectors: $1"
    grep -q "^order-vectors: broken.json, vector" said || fail "$1: $(cat said)"
}

file=order-vectors
broken 'v[-1]["seed"] += 1'
broken 'v[0]["C"] += 1'
broken 'v[0]["half"][0] += 1'
broken 'v[0]["sizes"][6] += 512'
broken 'v[1]["times"][3]["time"] += 1'
broken 'next(a for a in v if a["shards"] > 1)["P"].reverse()'
broken 'next(b["order"] for a in v for b in a["blocks"] if len(b["order"]) > 1).reverse()'
broken 'v[0]["piece_ends"][-1] += 512'
for file in order-vectors-equal order-vectors-dealt order-vectors-random; do
    broken 'v[0]["epoch"] += 1'
    broken 'v[0]["C"] += 1'
    broken 'v[0]["lanes_in_use"] += 1'
    broken 'v[0]["order"].reverse()'
    broken 'v[0]["parts"][-1]["order"].pop()'
    broken 'v[0]["refused"].append([0, 1])'
done
file=order-vectors-equal
broken 'next(a for a in v if a["equal"] == 2 and a["refused"] == [])["equal"] = 1'
broken 'next(a for a in v if a["segment"] == 2048)["segment"] = 4096'
file=order-vectors-tars
broken 'v[0]["list"].pop()'
broken 'next(a for a in v if a["stream"].startswith("error"))["stream"] = "512 bytes"'
