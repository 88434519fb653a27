#!/bin/sh
# SPDX-License-Identifier: MIT
# With random segments: where members hold tars, nothing is guessed, and many segments of a shard
# wait for its headers.  One scan serves all of them: what is fetched is no multiple of the shards,
# however many segments there are.  (A search from the shard's start for each fetched 28 times as
# much.)
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"

"$python" "$top/tests/lib/tars-in-tars.py" dense 3 20 5000 3000000 1
start_nginx .
"$python" "$top/scripts/order.py" stream dense 0.tar --seed 1 --segment random >want.tar
"$shufflefs" cat -o index-cache=no,seed=1,segment=random "$nginx/dense/dense-{00..02}.tar" epochs/0.tar >got.tar 2>said ||
    fail "$(cat said)"
same want.tar got.tar
"$python" - "$work/origin-log.1" "$(cat dense/*.tar | wc -c)" <<'EOD'
import json, sys
n = 0
for line in open(sys.argv[1]):
    first, last = json.loads(line)["headers"]["range"].partition("=")[2].partition("-")[::2] if "bytes" in line else ("", "")
    if first and last:
        n += int(last) - int(first) + 1
size = int(sys.argv[2])
print("%d bytes were asked for; the shards have %d" % (n, size))
sys.exit(not size <= n <= 6 * size)
EOD
