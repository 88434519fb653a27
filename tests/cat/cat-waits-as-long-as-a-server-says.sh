#!/bin/sh
# SPDX-License-Identifier: MIT
# Retry-After is honoured, given in seconds or as a date.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"

quick=$quick,segment=shard # no part is asked for twice, unless it must be

# waited FAULT: the seconds between the first two requests of one part with this fault.  (Others
# may be asked for once more because they are late.)
waited() {
    "$python" - "$1" "origin-log.$n_origins" <<'EOF'
import json, sys
times = {}
for r in map(json.loads, open(sys.argv[2])):
    if "/" + sys.argv[1] + "/" in r["path"] and len(r["headers"]["range"]) > len("bytes=0-511"):
        times.setdefault(r["headers"]["range"], []).append(r["time"])
waits = [t[1] - t[0] for t in times.values() if len(t) > 1]
print(waits)
sys.exit(not waits or max(waits) < 1)
EOF
}

good_shards --shards 1 --samples 10
start_origin shards
for fault in 429,retry-after=1 503,retry-after=date; do
    fault=$fault,over=1000,times=1
    arrives "$origin/$fault/train-000000.tar"
    case $fault in
    429*) said "retry: $origin: HTTP 429 (too many requests), retry in [0-9]\{4\} ms, as the server says; " ;;
    *) said "retry: train-000000.tar @ [0-9]*: HTTP 503, retry 1 in [0-9]\{4\} ms" ;;
    esac
    waited "$fault" || fail "asked again too early"
done
# Nonsense is no reason to wait, nor to fail.
arrives "$origin/429,retry-after=soon,over=1000,times=1/train-000000.tar"
said "retry 1 in [0-9]\{3\} ms"
