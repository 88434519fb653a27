#!/bin/sh
# SPDX-License-Identifier: MIT
# A server that falls silent, in a body, in its headers or before them, is asked again
# after stall-timeout.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"

good_shards
start_origin shards
arrives -o retries=1000,stall-timeout=300ms "$origin/stall,at=300000,times=1/$three"
said "retry: train-00000..tar @ 300000: no byte in 300 ms"
arrives -o retries=1000,connect-timeout=300ms,stall-timeout=300ms "$origin/stall,over=1000,times=1/$three"
said "no byte in 300 ms"
arrives -o retries=1000,connect-timeout=300ms,stall-timeout=300ms "$origin/stall,head,over=1000,times=1/$three"
said "no byte in 300 ms\|headers not complete after 300 ms"
