#!/bin/sh
# SPDX-License-Identifier: MIT
# A link that falls silent without an end, in one direction or both, until sender or receiver takes
# the other for dead, and then carries all that it has held back: the trainer gets each batch
# once, with its bytes and in order.  A receiver that is killed meanwhile changes nothing.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/kills.sh"
make_kill_shards
cleanup stop_kills
cat shards/0.tar >0.tar # (a tar of one shard: no mount is needed)
wanted=$work/wanted
"$drain" ring >wanted 2>drain.log &
"$sidecar" send 0.tar local:ring --fields "$fields" --batch 6 2>log || fail "$(cat log)"
wait $!
[ "$(grep -c batch wanted)" = 10 ] || fail "$(cat wanted)"

has_noticed() {
    grep -q 'was silent for 10 s\|did not say who it is within 10 s' sender.log receiver.log
}

# silence DIRECTIONS [VICTIM]: while the trainer holds the first batch, so nothing can end before.
silence() {
    round="silent: $*"
    mkdir "$work/$1$2"
    cd "$work/$1$2"
    train 1 hold
    connect 1
    send sender "$work/0.tar" $target
    wait_until 60 grep -q "^batch" got.1
    echo $1 >silent
    [ ! "$2" ] || kill_all $2
    wait_until 60 has_noticed
    rm silent
    touch hold
    end_round 1 sender
    wait
}

jobs=
for args in 0 1 01 "01 receiver"; do
    (
        trap - EXIT
        set -- $args
        silence $1 "${2:-}"
    ) &
    jobs="$jobs $!"
done
for job in $jobs; do
    wait $job || fail "see above"
done
