#!/bin/sh
# SPDX-License-Identifier: MIT
# Silence and drips are noticed also at the very beginning, when it is not known yet how long
# answers take: of the first sizes and of the first parts.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"

good_shards --samples 10
start_origin shards

# passes FAULT: with nothing but time-outs it would take longer than a minute.
passes() {
    arrives -o stall-timeout=250s,read-timeout=250s,connect-timeout=250s "$origin/$1,times=1/$three"
}

for fault in stall drip,ms=500 drip,ms=500,lines; do
    passes "$fault,over=1000"
    passes "$fault,under=513"
    passes "$fault,under=513,only=*0.tar"
done
