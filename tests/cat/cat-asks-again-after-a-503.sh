#!/bin/sh
# SPDX-License-Identifier: MIT
# A server that is busy for a while is asked again; one that stays so is an error, which
# is named, once a reader's time is up.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"

good_shards
start_origin shards
arrives "$origin/503,over=1000,times=2/$three"
said "retry: train-00000[0-2].tar @ [0-9]*: HTTP 503, retry 1 in [0-9]* ms"
# Sizes that are asked for before the mount is certain are asked for silently at first.
arrives "$origin/503,only=*1.tar,times=2/$three"
not_said "train-000001.tar: HTTP 503"
arrives "$origin/503,only=*1.tar,times=5/$three"
said "retry: train-000001.tar: HTTP 503, retry [12] in"
for code in 408 429 500 504; do
    arrives "$origin/$code,over=1000,only=*1.tar,times=1/$three"
    said "retry: train-000001.tar @ [0-9]*: HTTP $code, retry 1 in"
done
# An error page is not data, however long it is, and with whatever status.
arrives "$origin/503,body=300000,over=1000,times=1/$three"

# Patience lasts as long as a reader may wait, however few retries there may be.
breaks -o retries=0 $brief "$origin/503,over=1000,only=*1.tar/$three"
said "retry: train-000001.tar @ [0-9]*: HTTP 503, retry 1 in"
said "read error at byte [0-9]*: train-000001.tar @ [0-9]*: $origin/.*train-000001.tar: HTTP 503 (given up after [0-9]* s)"
# Nor does on-error=skip leave a sample out for that.
breaks $brief -o on-error=skip "$origin/503,over=1000,only=*1.tar,skipping/$three"
refused "$origin/503,mounting/$three"
said "train-000000.tar: HTTP 503"
