#!/bin/sh
# SPDX-License-Identifier: MIT
# A signed URL is requested by GET alone, as the signature may be for no other method, and its
# query goes out as it stands: in its order, with each parameter as often as it is there, and
# nothing encoded or decoded.  Neither the log nor an error shows it.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"

good_shards
start_origin shards
query='?X-Amz-Signature=SECRET%2Fa%2b%3D%3d&b=2&a=1&b=1&empty=&flag&c=1+2%20~!*()&&Z=..'

# as_they_are: all requests of the log so far.
as_they_are() {
    "$python" - "$query" origin-log.1 <<'EOF2' || fail "not as it was given"
import json, sys
query, log = sys.argv[1:]
requests = [json.loads(line) for line in open(log)]
assert len(requests) >= 3
for r in requests:
    if r["method"] != "GET":
        sys.exit("a %s" % r["method"])
    if not r["path"].endswith(".tar" + query):
        sys.exit("requested: %s" % r["path"])
EOF2
}

for wire in ours libcurl; do
    [ $wire = ours ] || : >"$HOME/.netrc" # then libcurl makes all requests
    arrives -o index-cache=no,log-level=debug "$origin/$three$query"
    not_said SECRET
    as_they_are

    refused -o index-cache=no,log-level=debug "$origin/403,$wire/$three$query"
    said "HTTP 403"
    not_said SECRET
    as_they_are
    breaks -o log-level=debug "$origin/403,over=1000,$wire/$three$query"
    not_said SECRET
done
