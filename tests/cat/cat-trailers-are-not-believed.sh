#!/bin/sh
# SPDX-License-Identifier: MIT
# What comes behind a body in chunks is not part of its head: no range, tag or date of there
# counts.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"

good_shards --samples 10
start_origin shards
for tag in blind noetag; do
    arrives "$origin/$tag/chunked,trailer/$three"
    arrives "$origin/$tag/chunked,trailer,over=1000/$three"
    arrives "$origin/$tag/chunked,trailer,under=600/$three"
    [ ! -s said ] || fail "something was said"
done
