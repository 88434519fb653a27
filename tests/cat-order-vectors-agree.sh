#!/bin/sh
# SPDX-License-Identifier: MIT
# The published vectors, and the worked example of docs/ORDER.md, are what a script
# that was written from that page alone computes; a wrong vector is noticed.
. "${srcdir:-$(dirname "$0")/..}/tests/functions.sh"

"$python" "$top/scripts/order.py" vectors "$top/tests/order-vectors.json"

# broken EXPRESSION: change the vectors `v` so; then they must not agree.
broken() {
    "$python" -c "
import json, sys
with open(sys.argv[1]) as file:
    v = json.load(file)
$1
json.dump(v, sys.stdout)" "$top/tests/order-vectors.json" >broken.json
    ! "$python" "$top/scripts/order.py" vectors broken.json 2>/dev/null ||
        fail "agrees with wrong vectors: $1"
}

broken 'v[-1]["seed"] += 1'
broken 'v[0]["C"] += 1'
broken 'next(a for a in v if a["shards"] > 1)["P"].reverse()'
broken 'next(b["order"] for a in v for b in a["blocks"] if len(b["order"]) > 1).reverse()'
broken 'v[0]["piece_ends"][-1] += 512'
