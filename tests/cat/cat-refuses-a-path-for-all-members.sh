#!/bin/sh
# SPDX-License-Identifier: MIT
# A pax global header may not set the name, the size or the holes of all members.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"

small_shards
truncate -s 0 "rest/$one"
truncate -s 10240 "rest/$one"
for key in path size GNU.sparse.major SCHILY.realsize; do
    "$python" - "whole/$one" "$victim" $key <<'EOF'
import sys, tarfile
source, target, key = sys.argv[1:]
with open(target, "wb") as file, open(source, "rb") as rest:
    file.write(tarfile.TarInfo.create_pax_global_header({key: "1"}) + rest.read())
EOF
    damaged 0 "a pax global header sets '$key' for all members"
done
