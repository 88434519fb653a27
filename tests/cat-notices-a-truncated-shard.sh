#!/bin/sh
# SPDX-License-Identifier: MIT
# A shard that was cut off, between two members or samples, in a header or in data, is an
# error where it was cut, or ends there with on-error=skip.
. "${srcdir:-$(dirname "$0")/..}/tests/functions.sh"
. "$top/tests/faults.sh"

small_shards
jpg=$(byte_of 000062.jpg)
cls=$(byte_of 000062.cls)

# The sample before the cut is left out: it may have had more members.
keep_before 000061.jpg
truncate -s "$jpg" "$victim"
damaged "$jpg" "no end-of-archive mark: cut off"
cp "whole/$one" shards
truncate -s $((jpg + 200)) "$victim"
damaged "$jpg" "the shard ends in a header"
cp "whole/$one" shards
truncate -s $((jpg + 512 + 100)) "$victim"
damaged "$jpg" "the data of '000062.jpg' end [0-9]* bytes behind the shard's end"

keep_before 000062.jpg
cp "whole/$one" shards
truncate -s "$cls" "$victim"
damaged "$cls" "no end-of-archive mark: cut off"
cp "whole/$one" shards
truncate -s $((cls + 512 + 1)) "$victim"
damaged "$cls" "the data of '000062.cls' end [0-9]* bytes behind the shard's end"
