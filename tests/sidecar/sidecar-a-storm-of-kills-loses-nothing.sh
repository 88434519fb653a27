#!/bin/sh
# SPDX-License-Identifier: MIT
# Two senders, a receiver and two trainers: two or three of them are killed with SIGKILL at once, at
# random moments, and started again; or trainers die only when the next receiver has taken over from
# theirs.  With --on-consumer-death=redeliver each batch is released, and none is released twice.
# $KILL_ROUNDS rounds, 50 by default (20 with a sanitizer); $SEED repeats the moments.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/kills.sh"
seed=${SEED:-$test_seed}
n=50
! has_sanitizer || n=20
n=${KILL_ROUNDS:-$n}
echo "SEED=$seed KILL_ROUNDS=$n"
make_kill_shards
cleanup stop_kills

# wants STREAM: its batches, each in a line.
wants() {
    "$drain" ring >part 2>drain.log &
    "$sidecar" send $1 local:ring --fields "$fields" --batch 6 || fail "no stream"
    wait $! || fail "$(cat drain.log)"
    sed '/^end$/d' part | whole_batches
}
for rank in 0 1; do
    "$shufflefs" cat shards epochs/0/rank-$rank-of-2.tar >rank-$rank.tar
    wants rank-$rank.tar >>wanted
done
# (A rank need not have half of the samples.)
[ "$(grep -o row wanted | wc -l)" = 240 ] || fail "$(cat wanted)"

# keep_training N: a trainer, and one after the other in its place; each life has a file.
keep_training() {
    life=0
    until
        "$drain" --tell 6000 ring >got.$1.$life 2>>drain.$1.log &
        echo $! >trainer$1.pid
        wait $!
    do
        [ ! -e stop ] || break
        life=$((life + 1))
        sleep 0.02
    done
    touch trainer$1.over
}

# is_over: senders know that all was released; or trainers do.  (Who is killed when those have ended
# waits for others.)
is_over() {
    if [ -e sender.done ] && [ -e second.done ]; then
        return 0
    fi
    [ -e trainer1.over ] && [ -e trainer2.over ]
}
has_batch() {
    grep -q released got.1.0 got.2.0 2>/dev/null
}

# is_next_receiver: one has been started again, or there is none, because all was over before.
is_next_receiver() {
    [ -e receiver.over ] || [ "$(grep -c 'waiting for senders' receiver.log)" -ge 2 ]
}
# kill_late NAME...: trainers stand still, with what they hold, until the next receiver is there.
kill_late() {
    trainers=
    others=
    for name; do
        case $name in
        trainer*)
            kill -STOP "$(cat $name.pid)" 2>/dev/null || :
            trainers="$trainers $name"
            ;;
        *) others="$others $name" ;;
        esac
    done
    kill_all $others
    wait_until 60 is_next_receiver
    kill_all $trainers
}

# kill_in_round LANE VICTIMS WAITS SECONDS
kill_in_round() {
    rm -rf "$work/lane-$1"
    mkdir "$work/lane-$1"
    cd "$work/lane-$1"
    # At an address of its own, so that no two lanes have one port.
    target=${KILL_SCHEME:-tcp}://127.0.0.$(($1 + 2)):$(free_port)
    shift
    supervise receiver "$sidecar" recv $target --ring ring --slots 3 --senders 2 \
        --on-consumer-death redeliver &
    keep_training 1 &
    keep_training 2 &
    send sender ../rank-0.tar $target
    send second ../rank-1.tar $target
    wait_until 60 test -s sender.pid -a -s second.pid -a -s receiver.pid
    wait_until 60 test -s trainer1.pid -a -s trainer2.pid
    [ $2 = n ] || wait_until 60 has_batch
    sleep $3
    if [ $2 = late ]; then
        kill_late $1
    else
        kill_all $1
    fi
    wait_until 120 is_over || fail "$round: it does not end: $(tail ./*.log)"
    end_supervisors
    wait
    "$python" "$top/tests/lib/kill-storm.py" judge "$1" ../wanted got.* ||
        fail "$round: $(tail ./*.log)"
    cd "$work"
}

"$python" "$top/tests/lib/kill-storm.py" rounds "$seed" "$n" >rounds

# Four rounds at a time: each waits more than it works.
at_once=4
kill_in_rounds() {
    i=0
    while IFS=/ read -r victims waits seconds; do
        i=$((i + 1))
        [ $((i % at_once)) = $1 ] || continue
        round="SEED=$seed: $victims are killed $seconds s later ($waits)"
        kill_in_round $1 "$victims" $waits $seconds
    done <rounds
}
lanes=
for i in $(seq 0 $((at_once - 1))); do
    kill_in_rounds $i &
    lanes="$lanes $!"
done
for lane in $lanes; do
    wait "$lane" || fail "a round"
done
