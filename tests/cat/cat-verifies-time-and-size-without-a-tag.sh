#!/bin/sh
# SPDX-License-Identifier: MIT
# Where there is no strong ETag, size and Last-Modified tell whether a shard has
# changed.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"

good_shards
start_origin shards
for tag in weak noetag; do
    arrives "$origin/$tag/$three"
    not_asked "/$tag/.*if-match"
    breaks "$origin/$tag/modified,after=1,only=*1.tar/$three"
    said "changed: train-000001.tar @ [0-9]*: .*Last-Modified was .*2020.*, is .*2009"
    said "read error at byte [0-9]*: .*the object changed since the mount began"
done
arrives "$origin/bare/$three"
said "the server sends neither ETag nor Last-Modified"
[ "$(wc -l <said)" = 1 ] || fail "not said once"
