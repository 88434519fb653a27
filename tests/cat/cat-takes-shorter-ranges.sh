#!/bin/sh
# SPDX-License-Identifier: MIT
# A server may answer with fewer bytes than were asked for, if it says so: the rest is
# asked for next.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"

good_shards
start_origin shards
arrives "$origin/less,bytes=100000/$three"
asked '"range": "bytes=100000-'
[ ! -s said ] || fail "something was said"
arrives "$origin/less,bytes=3000/train-000000.tar" "$origin/train-{000001..000002}.tar"
