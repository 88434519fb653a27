#!/bin/sh
# SPDX-License-Identifier: MIT
# A shard that has all its members but no zero block at its end may have been cut off, which
# is an error; with on-error=skip no sample is lost.  One zero block is enough.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"

small_shards
end=$("$python" -c 'import sys, tarfile
with tarfile.open(sys.argv[1]) as tar:
    print(max(m.offset_data + (m.size + 511) // 512 * 512 for m in tar))' "$victim")
truncate -s $((end + 512)) "$victim"
cat_of shards epochs/0.tar
[ $status = 0 ] || fail "exit status $status with one zero block"
"$python" "$top/tests/lib/compare.py" whole got.tar
[ ! -s said ] || fail "something was said"

# With less than a block, or nothing at all, each member is whole, so on-error=skip keeps
# every sample, and says what is missing and which sample was the last one.
for length in "$end" $((end + 100)) $((end + 511)); do
    truncate -s "$length" "$victim"
    damaged "$end" "no end-of-archive mark: cut off, or written without one"
    said "all its samples are kept; if the shard was cut off, members of the last one, '000079' at byte $(byte_of 000079.jpg), are missing"
done

# A part of a block with something in it is a header that was cut off, of any sample.
printf x | dd of="$victim" bs=1 seek=$((end + 99)) conv=notrunc status=none
truncate -s $((end + 100)) "$victim"
keep_before 000079.jpg
damaged "$end" "the shard ends within a header"
