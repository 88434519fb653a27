#!/bin/sh
# SPDX-License-Identifier: MIT
# Equal lanes have all samples in tables.  Where these do not fit the budget beside the
# lanes, that is an error at once, which says what would do; with that much they do.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"

make_dense 80 12000
opts=lanes=12,buffer=1M,segment=64K
status=0
timeout $patience "$shufflefs" cat -o $opts,budget=24M dense epochs/0@950000.tar >got.tar 2>said || status=$?
[ $status = 1 ] || fail "status $status: $(cat said)"
grep -q "budget=24M is too small: tables of 960000 samples take .*raise budget=" said || fail "$(cat said)"
[ ! -s got.tar ] || fail "bytes"
"$shufflefs" cat -o $opts,budget=48M dense epochs/0@950000.tar | wc -c | grep -qx $((10000 * 512 + 1024)) ||
    fail "with a larger budget"
