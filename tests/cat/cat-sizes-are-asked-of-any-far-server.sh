#!/bin/sh
# SPDX-License-Identifier: MIT
# Sizes are asked of a far server by several requests at a time over one connection.  They
# are right also where the server hangs up now and then, closes politely, answers in a way
# that only libcurl reads, or forgets what came behind a request.  And where something mixes
# up the responses: none is taken for that to another.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"

make_alike 300 --samples 3 --bytes 1000
cp data/train-000000.tar data/longer
truncate -s +10240 data/longer
for i in $(seq 0 7 299); do
    ln -f data/longer "data/train-$(printf %06d "$i").tar"
done
start_origin data
options=lanes=32,buffer=1M,stall-timeout=2s
"$shufflefs" cat -o $options data epochs/0.tar >want

# asks FAULTS: each size comes 20 ms late, which makes the server far.
asks() {
    "$shufflefs" cat -o $options "$origin/late,ms=20,under=520$1/train-{000000..000299}.tar" \
        epochs/0.tar >got 2>said || fail "$1: $(cat said)"
    same want got
}
asks ""
asks /hangup,only=train-00015*.tar,times=1
asks /close,only=train-00015*.tar,times=1
asks /chunked,only=train-00015*.tar,times=1
asks /forgets
asks /swaps
asks /swaps/redirect,only=train-00015*.tar

rm data/train-00015*.tar
options=$options,on-error=skip
"$shufflefs" cat -o $options "data/train-{000000..000299}.tar" epochs/0.tar >want
asks /404,only=train-00015*.tar
asks /swaps/404,only=train-00015*.tar
