#!/bin/sh
# SPDX-License-Identifier: MIT
# Far is what takes long to a first byte, whatever a round trip takes: a server at hand that
# needs 20 ms to begin is asked for small first parts of all lanes, as one on another
# continent is: a slab of each, and three of the four that are due first.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"

order=lanes=24,buffer=1M,budget=200M
make_shards data --shards 24 --samples 40 --bytes 40000
"$shufflefs" cat -o $order data epochs/0.tar >want
start_origin data
"$shufflefs" cat -o $order "$origin/late,ms=20/train-{000000..000023}.tar" epochs/0.tar >got
same want got

"$python" - "origin-log.$n_origins" <<'EOF' || fail "a first part is large"
import json, re, sys
firsts = {}
for r in map(json.loads, open(sys.argv[1])):
    first, last = map(int, re.fullmatch(r"bytes=(\d+)-(\d+)", r["headers"]["range"]).groups())
    if first > 0 or last >= 131071:  # smaller ones ask for the size
        # (Requests of two connections are not logged in the order in which they were sent.)
        part = first, last - first + 1
        firsts[r["file"]] = min(firsts.get(r["file"], part), part)
print(firsts)
sizes = sorted(n for first, n in firsts.values())
sys.exit(len(sizes) < 24 or sizes[-5] > 131072 or sizes[-1] > 3 * 131072)
EOF
