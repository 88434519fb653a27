#!/bin/sh
# SPDX-License-Identifier: MIT
# Fewer bytes than the Content-Range promises are never taken for the whole, whatever
# Content-Length says.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"

good_shards
start_origin shards
arrives "$origin/short,by=1000,over=1000,times=1/$three"
said "retry: train-00000..tar @ [0-9]*: Content-Length [0-9]* does not match Content-Range"
breaks "$origin/short,by=1000,over=1000,only=*1.tar/$three"
said "lost: train-000001.tar @ 0: .*does not match Content-Range"
