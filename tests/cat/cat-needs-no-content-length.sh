#!/bin/sh
# SPDX-License-Identifier: MIT
# Answers in chunks, or until the connection ends, are as good as others; so are servers
# that end each connection, with or without saying so.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"

good_shards
start_origin shards
for fault in chunked nolength close hangup; do
    arrives "$origin/$fault/$three"
done
# Without a length, too, a body that is cut is noticed, and goes on where it was cut.
for fault in chunked nolength; do
    arrives "$origin/$fault/cut,at=300000,times=1/$three"
    said "retry: train-00000[0-2].tar @ 300000: "
    breaks $brief "$origin/$fault/cut,at=300000,only=*1.tar/$three"
    said "lost: train-000001.tar @ 300000: "
done
