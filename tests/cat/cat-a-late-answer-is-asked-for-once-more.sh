#!/bin/sh
# SPDX-License-Identifier: MIT
# A server that never answers one request, and answers it when it is asked once more: the
# epoch is read without waiting for the stall to be noticed, and each byte is right.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"

# A part a shard; what comes at the end of the epoch is asked for when it is known how long
# the others took.
make_shards shards --shards 300 --samples 2 --bytes 60000
"$shufflefs" cat -o lanes=2 shards epochs/0.tar >want.tar
"$shufflefs" cat -o lanes=2 shards epochs/0.order >order
late=$(tail -n 1 order | awk '{ print $4 }')
[ -e "shards/$late" ] || fail "no shard in: $(tail -n 1 order)"
start_origin shards
list=$(cd shards && echo *.tar | tr ' ' ,)

# stalls FAULT: it would take longer than this test may, if nothing but time-outs helped.
stalls() {
    status=0
    timeout 200 "$shufflefs" cat -o lanes=2,stall-timeout=250s,read-timeout=250s \
        "$origin/$1,only=$late,over=1000,times=1/{$list}" epochs/0.tar >got.tar 2>said || status=$?
    [ $status = 0 ] || fail "status $status with $1: $(cat said)"
    same want.tar got.tar
    "$python" - "origin-log.$n_origins" "/$1,only" "/$late" <<'EOF' || fail "not asked for once more"
import json, sys
asked = [r for r in map(json.loads, open(sys.argv[1]))
         if r["path"].startswith(sys.argv[2]) and r["path"].endswith(sys.argv[3])
         and len(r["headers"]["range"]) > len("bytes=0-511")]
sys.exit(len(asked) < 2)
EOF
}

stalls stall
stalls stall,bytes=5000
