#!/bin/sh
# SPDX-License-Identifier: MIT
# Redirects are followed, of every kind, relative or to another host; the place where they
# lead is remembered, so that a range costs one request.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"

good_shards
start_origin shards
for code in 301 302 303 307 308; do
    arrives "$origin/redirect,status=$code/$three"
done
arrives "$origin/redirect,to=other/$three"
arrives "$origin/redirect,to=localhost/redirect,to=other/$three"
[ ! -s said ] || fail "something was said"
for shard in 0 1 2; do
    n=$(grep -c "\"path\": \"/redirect,to=other/train-00000$shard.tar\"" origin-log.1)
    [ "$n" = 1 ] || fail "asked $n times where shard $shard is"
done
asked '"origin": "other".*"if-match"'

# To signed URLs, which have the length that they have: those of S3 with a session's token have
# several KiB.
for n in 3000 5000 8200 60000; do
    arrives "$origin/redirect,pad=$n/$three"
    [ ! -s said ] || fail "something was said"
done

# In the middle, too.
arrives "$origin/redirect,to=other,over=1000/$three"
