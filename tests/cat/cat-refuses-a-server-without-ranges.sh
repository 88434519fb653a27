#!/bin/sh
# SPDX-License-Identifier: MIT
# A server that ignores Range is refused at once; one that does so only later is asked
# again, and its 200 never taken for the range.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"

good_shards
start_origin shards
refused "$origin/ignorerange/$three"
said "does not serve ranges"
arrives "$origin/ignorerange,at=600000,times=1/$three"
said "retry: train-00000..tar @ [0-9]*: HTTP 200 for a range"
breaks "$origin/ignorerange,at=600000,only=*2.tar/$three"
said "lost: train-000002.tar @ .*HTTP 200 for a range"
