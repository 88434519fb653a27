#!/bin/sh
# SPDX-License-Identifier: MIT
# A slow server that goes on sending is waited for: the stall time-out counts from the
# last byte.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"

good_shards --samples 10
start_origin shards
arrives "$origin/trickle,bytes=10000,ms=20/$three"
[ ! -s said ] || fail "something was said"
