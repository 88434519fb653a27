#!/bin/sh
# SPDX-License-Identifier: MIT
# A member that claims more bytes than its shard has is an error where it begins.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"

small_shards
keep_before 000062.jpg
cls=$(byte_of 000062.cls)
for size in 1000000 8589934592 1152921504606846976; do
    "$python" - "$victim" "$cls" $size <<'EOF'
import sys, tarfile
path, at, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
with open(path, "r+b") as file:
    file.seek(at)
    info = tarfile.TarInfo.frombuf(file.read(512), "utf-8", "strict")
    info.size = size
    file.seek(at)
    file.write(info.tobuf(tarfile.GNU_FORMAT))
EOF
    damaged "$cls" ".*after the end of the shard"
done
