# SPDX-License-Identifier: MIT
# The wire stays cut for longer than --give-up: sender, receiver and trainer end, each with one line
# that says so.
. "$top/tests/rdma/functions.sh"
if [ "$SIDE" = a ]; then
    at=$ADDRESS:7475
    recv --give-up 3
    "$drain" ring hold >got 2>drain.log &
    trainer=$!
    meet ready
    until_so grep -q batch got
    wire cut
    lost='sender 0 was lost, and did not come back in 3 s'
    until_so grep -q "$lost" recv.log
    touch hold
    if wait $receiver; then fail "recv said that all was well"; fi
    if wait $trainer; then fail "the trainer saw an end"; fi
    grep -q "$lost" drain.log || fail "the trainer: $(cat drain.log)"
    [ "$(grep -c "$lost" recv.log)" = 1 ] || fail "more than a line"
    meet end
    wire mend
else
    meet ready
    if send "$data/many.tar" rdma://10.77.0.1:7475 --give-up 3 2>send.log; then
        fail "send said that all was well"
    fi
    [ "$(grep -c 'no receiver for 3 s' send.log)" = 1 ] || fail "send: $(cat send.log)"
    meet end
fi
