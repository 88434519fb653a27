#!/bin/sh
# SPDX-License-Identifier: MIT
# A shard whose parts are on their way at the same time and all fail is an error once
# their time is up: that one is asked for anew does not hide the other's failure.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"

good_shards
start_origin shards
breaks $brief "$origin/503,over=1000,only=*2.tar/$three"
said "lost: train-000002.tar @ [0-9]*: .*HTTP 503"
