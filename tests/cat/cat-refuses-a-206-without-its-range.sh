#!/bin/sh
# SPDX-License-Identifier: MIT
# A 206 that does not say which bytes it has, or has several ranges, is not believed.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"

good_shards
start_origin shards
for fault in norange multipart; do
    refused "$origin/$fault/$three"
    said "206 without a usable Content-Range"
    arrives "$origin/$fault,over=1000,times=1/$three"
    said "retry: train-00000..tar @ [0-9]*: HTTP 206 without a usable Content-Range"
    breaks "$origin/$fault,over=1000,only=*1.tar/$three"
    said "lost: train-000001.tar @ 0: .*HTTP 206 without a usable Content-Range"
done
