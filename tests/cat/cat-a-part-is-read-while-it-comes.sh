#!/bin/sh
# SPDX-License-Identifier: MIT
# Of a part that is long in coming a reader gets what is here, also if its connection
# breaks later on.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"

make_shards data --shards 1 --samples 100 --bytes 200000
start_origin data
order=lanes=1,buffer=64K
"$shufflefs" cat -o $order data epochs/0.tar >want
mkfifo pipe

# Parts are of 512 KiB, and then as large as all before, up to 4 MiB.  Of the first of
# these, 3.5 MB come.
pause=pause,bytes=3500000,over=3600000,while=shut
for fault in $pause cut,bytes=3900000,times=1,over=3600000/$pause; do
    : >data/shut
    "$shufflefs" cat -o $order "$origin/$fault/train-000000.tar" epochs/0.tar >pipe &
    exec 3<pipe
    timeout $patience head -c 4500000 <&3 >got || fail "$fault: nothing came of a part that is not whole"
    [ "$(wc -c <got)" -eq 4500000 ] || fail "$fault: $(wc -c <got) bytes"
    rm data/shut
    cat <&3 >>got
    exec 3<&-
    wait $! || fail "$fault: cat failed"
    same want got
done
