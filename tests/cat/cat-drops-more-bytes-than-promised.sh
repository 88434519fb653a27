#!/bin/sh
# SPDX-License-Identifier: MIT
# A server that sends more than it promised does no harm: what was not asked for is
# never taken for data or for the next answer.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"

good_shards
start_origin shards
arrives -o retries=9 "$origin/long,by=100000/$three"
arrives "$origin/long,by=100000,open,over=1000,times=1/$three"
# Where there is a .netrc, libcurl reads the answers, and we see what it has read.
: >"$HOME/.netrc"
start_origin shards
arrives "$origin/long,by=100000,open,over=1000,times=1/$three"
said "retry: train-00000..tar @ [0-9]*: more bytes than its headers promised"
breaks "$origin/train-000000.tar" \
    "$origin/long,by=100000,open,over=1000,only=*1.tar/train-000001.tar" "$origin/train-000002.tar"
