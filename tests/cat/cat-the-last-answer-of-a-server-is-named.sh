#!/bin/sh
# SPDX-License-Identifier: MIT
# What a server answered last is named: also while sizes are asked for, with the Retry-After that is
# longer than there is time, and when its next answer does not come at all.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"

good_shards
start_origin shards

# Of the first shard: at once, for there is no use in waiting.
for code in 429 503; do
    refused -o read-timeout=10m "$origin/$code,retry-after=3600/$three"
    said "train-000000.tar: HTTP $code (Retry-After: 3600 s; given up after [0-9]* s)$"
done

# Of the size of another one, and of bytes.
for code in 429 503; do
    for over in "" ,over=1000; do
        cat_of $brief "$origin/$code,retry-after=3600,only=*1.tar$over/$three" epochs/0.tar
        [ $status = 1 ] || fail "exit status $status"
        tail -n 1 said >last
        grep -q "train-000001.tar: HTTP $code (Retry-After: 3600 s; given up after [0-9]* s)$" last ||
            fail "said: $(cat last)"
    done
done

# One answer, and then silence: of a size, and of bytes.
refused $brief "$origin/503,times=1/stall,after=1/train-000000.tar"
said "no answer within 5 s (read-timeout): waited for the size from $origin (last try: HTTP 503)$"
cat_of $brief "$origin/503,times=1,over=1000/stall,after=1,over=1000/train-000000.tar" epochs/0.tar
[ $status = 1 ] || fail "exit status $status"
tail -n 1 said | grep -q "timed out after 5 s (read-timeout) waiting for bytes from $origin (last try: HTTP 503)$" ||
    fail "said: $(cat said)"
