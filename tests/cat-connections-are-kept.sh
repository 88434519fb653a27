#!/bin/sh
# SPDX-License-Identifier: MIT
# One GET follows the other on the same connection, over our wires and libcurl's; one that
# the server has closed meanwhile is replaced without a word, and costs no retry.
. "${srcdir:-$(dirname "$0")/..}/tests/functions.sh"
. "$top/tests/faults.sh"

count() {
    "$python" - "origin-log.$n_origins" "$1" <<'END'
import json, sys
requests = [json.loads(line) for line in open(sys.argv[1])]
print(len({r["peer"] for r in requests}) if sys.argv[2] == "peers" else len(requests))
END
}

good_shards --samples 400
for who in us libcurl; do
    start_origin shards
    arrives -o connections=2 "$origin/$three"
    peers=$(count peers)
    gets=$(count gets)
    [ "$gets" -ge $((3 * peers)) ] || fail "$gets GETs on $peers connections, by $who"

    start_origin shards
    arrives -o connections=2,retries=0 "$origin/hangup/$three"
    [ ! -s said ] || fail "a word of closed connections, by $who"
    peers=$(count peers)
    gets=$(count gets)
    [ "$peers" -ge "$gets" ] || fail "the server did not close: $gets GETs, $peers connections"
    : >"$HOME/.netrc"
done
