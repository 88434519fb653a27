#!/bin/sh
# SPDX-License-Identifier: MIT
# After a 429 that says when to ask again, by Retry-After or by RateLimit, its server gets no request
# until then, of whatever shard.  That is one line, and nothing is lost.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"

# Whole shards: no part of one is asked for twice, unless it must be.
#
# left_alone S: after the request that got the 429, none came again for S seconds.  That is the first that
# came again a second later, or more: one whose connection broke comes again at once.
left_alone() {
    "$python" - "$1" "origin-log.$n_origins" <<'END'
import json, sys
log = [json.loads(line) for line in open(sys.argv[2])]
what = [(r["path"], r["headers"].get("range")) for r in log]
when = [r["time"] for r in log]
first = next(i for i in range(len(log))
             if any(what[j] == what[i] and when[j] - when[i] >= 1 for j in range(i + 1, len(log))))
waits = [r["time"] - log[first]["time"] for r in log]
print(waits[first:first + 9])
# (What was on its way then is asked for the first time.)
again = [i for i in range(first + 1, len(log)) if what[i] in what[:i]]
sys.exit(any(waits[i] < float(sys.argv[1]) for i in again))
END
}

make_alike 12 --samples 30 --bytes 100000
opts="-o connections=1,segment=shard,lanes=4,buffer=64K,budget=10M,connect-timeout=60s,stall-timeout=60s"
"$shufflefs" cat $opts data epochs/0.tar >want.tar

for told in retry-after ratelimit; do
    start_origin data
    begin "$origin/429,$told=4,while=limited,over=1000/train-{000000..000011}.tar"
    touch data/limited
    cat <&3 >>got.tar &
    reader=$!
    wait_until 60 grep -q "HTTP 429" said
    rm data/limited
    wait $reader
    finish 0
    same want.tar got.tar
    left_alone 4 || fail "its server was asked again too early"
    [ "$(wc -l <said)" = 1 ] || fail "not one line: $(cat said)"
    said "retry: $origin: HTTP 429 (too many requests), retry in [45][0-9]* ms, as the server says; [0-9]* requests\{0,1\} wait"
done
