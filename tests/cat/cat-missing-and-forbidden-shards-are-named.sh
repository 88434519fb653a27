#!/bin/sh
# SPDX-License-Identifier: MIT
# A shard that is missing or forbidden ends the epoch with an I/O error and a line that
# names the shard, its URL without secrets, and the status.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"

good_shards
start_origin shards
for code in 401 403 404 410; do
    # When its size is asked for.
    cat_of "$origin/$code,only=*1.tar/$three?signature=hunter2" epochs/0.tar
    [ $status = 1 ] || fail "exit status $status with HTTP $code"
    [ ! -s got.tar ] || fail "bytes without the sizes"
    said "^shufflefs: 1 of 3 shards .*: $origin/.*train-000001.tar.*: HTTP $code"
    [ "$(wc -l <said)" = 1 ] || fail "not said once"
    not_said hunter2

    # When it is read.
    breaks "$origin/$code,over=1000,only=*1.tar/$three?signature=hunter2"
    said "read error at byte [0-9]*: train-000001.tar @ 0: $origin/.*train-000001.tar.*: HTTP $code"
    [ "$(grep -vc retry: said)" = 1 ] || fail "not said once"
    # What was there a moment ago may be there, after all.
    case $code in
    40[13]) not_said retry ;;
    *) said "retry: train-000001.tar @ 0: HTTP $code, retry 2 of 2" ;;
    esac
    not_said hunter2

    # The first shard is asked for at once.
    refused "$origin/$code/$three"
    said "train-000000.tar: HTTP $code"
done
