#!/bin/sh
# SPDX-License-Identifier: MIT
# A connection that is reset, in a body or before an answer, costs no sample.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"

good_shards
start_origin shards
arrives "$origin/rst,at=300000,times=1/$three"
said "retry: train-00000..tar @ "
arrives "$origin/rst,times=1/$three"
arrives "$origin/rst,after=1,times=2,only=*1.tar/$three"
breaks $brief "$origin/rst,over=1000,only=*2.tar/$three"
said "lost: train-000002.tar @ 0: .*reset"
