#!/bin/sh
# SPDX-License-Identifier: MIT
# A batch that is in a receiver's memory only is not done.  Senders and receivers are killed one
# after the other while no trainer is attached, before the first one comes and after it has left; the
# next trainer gets all batches that nobody has released, once and in order.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/kills.sh"
make_kill_shards
cleanup 'kill -9 $receiver $sender 2>/dev/null'
"$shufflefs" cat shards epochs/0.tar >epoch.tar

"$drain" ring >want 2>drain.log &
trainer=$!
"$sidecar" send epoch.tar local:ring --fields "$fields" --batch 6
wait $trainer || fail "$(cat drain.log)"
[ "$(grep -c '^batch' want)" = 40 ] || fail "$(cat want)"

# is_full: the ring of this receiver has been full.
is_full() {
    [ "$(sed -n 's/^shufflefs_sidecar_batches_total{.*} //p' metrics)" -ge 3 ]
}
# says WHAT N: the sender's newest report.
says() {
    tail -n 1 report | grep -q "\"$1\":$2[,}]"
}

begin_receiver() {
    rm -f metrics
    "$sidecar" recv $url --ring ring --slots 3 --metrics metrics 2>>log &
    receiver=$!
}
begin_sender() {
    rm -f report
    "$sidecar" send ../epoch.tar $url --fields "$fields" --batch 6 --report-fd 9 9>report 2>>log &
    sender=$!
    n_connections=1
}
have_met() {
    wait_until 60 says connections $n_connections
    wait_until 60 is_full
}

# is_killed sender|receiver: and another one takes its place.
is_killed() {
    eval "kill -9 \$$1; wait \$$1 || true"
    begin_$1
    [ $1 = sender ] || n_connections=$((n_connections + 1))
    have_met
}

# LEAVES: how many batches a trainer takes first.
while read -r leaves victims; do
    rm -rf round
    mkdir round
    cd round
    url=tcp://127.0.0.1:$(free_port)
    begin_receiver
    begin_sender
    have_met
    : >got
    if [ "$leaves" -gt 0 ]; then
        "$drain" --leave "$leaves" ring >>got 2>drain.log || fail "$(cat drain.log)"
        wait_until 60 says consumed "$leaves"
    fi
    for victim in $victims; do
        is_killed "$victim"
    done
    "$drain" ring >>got 2>drain.log || fail "$leaves $victims: $(cat drain.log log)"
    cmp ../want got || fail "$leaves $victims: $(diff ../want got | head -n 20; cat log)"
    wait $receiver || fail "$leaves $victims: the receiver: $(cat log)"
    wait $sender || fail "$leaves $victims: the sender: $(cat log)"
    cd ..
done <<'END'
0 sender receiver
0 receiver sender
0 sender receiver sender receiver
0 sender sender receiver receiver
4 sender receiver
4 sender receiver receiver sender receiver
1 receiver sender receiver
END
