#!/bin/sh
# SPDX-License-Identifier: MIT
# A server that accepts connections and never says anything is an error, not a wait for
# ever: when mounting, and in the middle.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"

good_shards
start_origin shards
refused -o connect-timeout=300ms,stall-timeout=300ms "$origin/stall/$three"
said "no byte in 300 ms"
breaks $brief -o connect-timeout=300ms,stall-timeout=300ms "$origin/stall,over=1000,only=*1.tar/$three"
said "read error at byte [0-9]*: train-000001.tar @ 0: .*no byte in 300 ms"
