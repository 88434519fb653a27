#!/bin/sh
# SPDX-License-Identifier: MIT
# A plain GET says the same whether libcurl sends it (as it does where there is a .netrc)
# or we do, and gets the same bytes.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"

# headers: each GET's, with their order, but for the range, in origin-log.
headers() {
    "$python" - "origin-log.$n_origins" <<'END'
import json, sys
seen = set()
for line in open(sys.argv[1]):
    request = json.loads(line)
    request["headers"]["range"] = "bytes=..."
    request["headers"]["host"] = "..."
    seen.add(json.dumps([request["method"], request["path"], request["headers"]]))
print("\n".join(sorted(seen)))
END
}

good_shards
many="-o header=X-Amz-Date:1,header=Authorization:Bearer_x"
for url in "$three" "$three?sig=a%2Fb&c=d" "redirect,to=other/$three" "weak/$three"; do
    # $many is words
    # shellcheck disable=SC2086
    for who in us libcurl; do
        start_origin shards
        arrives $many "$origin/$url"
        headers >"headers-of-$who"
        : >"$HOME/.netrc"
    done
    rm "$HOME/.netrc"
    same headers-of-us headers-of-libcurl
    [ "$(wc -l <headers-of-us)" -ge 3 ] || fail "no requests"
done
