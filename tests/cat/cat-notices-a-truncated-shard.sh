#!/bin/sh
# SPDX-License-Identifier: MIT
# A shard that was cut off, between two members or samples, in a header or in data, is an
# error where it was cut, or ends there with on-error=skip.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"

small_shards
jpg=$(byte_of 000062.jpg)
cls=$(byte_of 000062.cls)

# What is left of the sample that was cut is left out, and no other.
keep_before 000062.jpg
truncate -s "$jpg" "$victim" # between two samples
damaged "$jpg" "no end-of-archive mark: cut off"
cp "whole/$one" shards
truncate -s $((jpg + 512 + 100)) "$victim"
damaged "$jpg" "the data of '000062.jpg' end [0-9]* bytes after the end of the shard"
cp "whole/$one" shards
truncate -s $((cls - 1)) "$victim" # in its padding
damaged "$jpg" "the data of '000062.jpg' end [0-9]* bytes after the end of the shard"
cp "whole/$one" shards
truncate -s $((cls + 512 + 1)) "$victim"
damaged "$cls" "the data of '000062.cls' end [0-9]* bytes after the end of the shard"

# In a header: nobody knows of which sample.
keep_before 000061.jpg
cp "whole/$one" shards
truncate -s $((jpg + 200)) "$victim"
damaged "$jpg" "the shard ends within a header"

# Between two members of a sample: that looks as if it was written without an end.
keep_before 000062.cls
cp "whole/$one" shards
truncate -s "$cls" "$victim"
damaged "$cls" "no end-of-archive mark: cut off"
said "members of the last one, '000062' at byte $jpg, are missing"
