#!/bin/sh
# SPDX-License-Identifier: MIT
# One GET follows the other on the same connection, over our wires and libcurl's; a wire
# that the server has closed meanwhile is replaced without a word, and costs no retry.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"

# count WHAT: of all GETs, the connections, the GETs, or the GETs of the busiest connection.
count() {
    "$python" - "origin-log.$n_origins" "$1" <<'END'
import collections, json, sys
peers = collections.Counter(json.loads(line)["peer"] for line in open(sys.argv[1]))
print({"peers": len(peers), "gets": sum(peers.values()), "most": max(peers.values())}[sys.argv[2]])
END
}

good_shards --samples 400
start_origin shards
arrives -o connections=2,retries=0,stall-timeout=30s "$origin/hangup/$three"
[ ! -s said ] || fail "a word of closed connections"
peers=$(count peers)
gets=$(count gets)
[ "$peers" -ge "$gets" ] || fail "the server did not close: $gets GETs, $peers connections"

for who in us libcurl; do
    start_origin shards
    arrives -o connections=2,stall-timeout=30s "$origin/$three"
    # (Not all: late GETs may be asked for once more, on other connections.)
    [ "$(count most)" -ge 4 ] || fail "$(count gets) GETs on $(count peers) connections, by $who"
    : >"$HOME/.netrc"
done
