# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# For tests that ask a far server for sizes: 300 small shards, one in seven of which is longer, at
# $origin; `want` is epoch 0 of them.  Sourced after speaks_tls, they are asked for over TLS.

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

# What may go wrong on a connection that several sizes are asked for over.
ask_through_faults() {
    asks /hangup,only=train-00015*.tar,times=1
    asks /close,only=train-00015*.tar,times=1
    asks /chunked,only=train-00015*.tar,times=1
    asks /forgets
    asks /swaps
}
