#!/bin/sh
# SPDX-License-Identifier: MIT
# A shard that has all its members but no zero block at its end may have been cut off; one
# zero block is enough.
. "${srcdir:-$(dirname "$0")/..}/tests/functions.sh"
. "$top/tests/faults.sh"

small_shards
end=$("$python" -c 'import sys, tarfile
with tarfile.open(sys.argv[1]) as tar:
    print(max(m.offset_data + (m.size + 511) // 512 * 512 for m in tar))' "$victim")
truncate -s $((end + 512)) "$victim"
cat_of shards epochs/0.tar
[ $status = 0 ] || fail "exit status $status with one zero block"
"$python" "$top/tests/compare.py" whole got.tar
[ ! -s said ] || fail "something was said"

truncate -s $((end + 100)) "$victim"
cat_of shards epochs/0.tar
[ $status = 1 ] || fail "exit status $status with a part of a block"
said "lost: $one @ $end: "

truncate -s "$end" "$victim"
keep_before 000079.jpg
damaged "$end" "no end-of-archive mark: cut off, or written without one"
