#!/bin/sh
# SPDX-License-Identifier: MIT
# Over TLS, too, GETs follow each other on kept connections, sizes are asked of a far server
# several at a time over one, and what servers and connections do wrong costs no sample.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"

speaks_tls
good_shards --samples 400
start_origin shards
arrives -o connections=2,stall-timeout=30s "$origin/$three"
"$python" - "origin-log.$n_origins" <<'END' || fail "a connection for each GET"
import collections, json, sys
peers = collections.Counter(json.loads(line)["peer"] for line in open(sys.argv[1]))
sys.exit(max(peers.values()) < 4)
END
for fault in hangup rst,at=300000,times=1 rst,times=1 cut,at=300000,times=1 cut,head,times=1 \
    stall,at=300000,times=1 trickle,bytes=1000,ms=0 less,bytes=70000 chunked nolength close \
    redirect short,by=1000,times=1 long,by=5,times=1 503,times=1; do
    arrives -o stall-timeout=2s,retries=5 "$origin/$fault/$three"
done
breaks $brief "$origin/rst,over=1000,only=*2.tar/$three"
said "lost: train-000002.tar @ 0: .*reset"

. "$top/tests/lib/far-sizes.sh"
asks ""
# (Of those behind another, each is for a byte more.)
grep -q '"bytes=0-51[2-8]"' "origin-log.$n_origins" || fail "sizes were asked one by one"
ask_through_faults
