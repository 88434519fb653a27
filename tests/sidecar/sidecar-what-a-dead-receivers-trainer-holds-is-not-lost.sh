#!/bin/sh
# SPDX-License-Identifier: MIT
# A trainer may hold a batch of a receiver that was killed, or of a sender of local:, when the next
# one has taken over.  The stream does not end before it has released that batch; and if it dies
# instead, the batch comes again, or is dropped and counted, or is the end for both sides.  So it is
# with trainers of two receivers that were killed one after the other.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/kills.sh"
make_kill_shards
cleanup stop_all
"$shufflefs" cat shards epochs/0.tar >epoch.tar

"$drain" ring >got 2>drain.log &
trainer=$!
"$sidecar" send epoch.tar local:ring --fields "$fields" --batch 6
wait $trainer || fail "$(cat drain.log)"
sed '/^end$/d' got | whole_batches | sort >wanted
[ "$(grep -c batch wanted)" = 40 ] || fail "$(cat wanted)"

stop_all() {
    for file in "$work"/round/*.pid; do
        kill -9 "$(cat "$file")" 2>/dev/null || :
    done
}

begin_round() {
    round="$*"
    echo "$round"
    cd "$work"
    rm -rf "$work/round"
    mkdir "$work/round"
    cd "$work/round"
    on_death=$2
    [ $2 != release ] || on_death=redeliver
    case $1 in
    tcp) url=tcp://127.0.0.1:$(free_port) ;;
    zmq) url=zpull://127.0.0.1:$(free_port) ;;
    esac
}
# begin NAME COMMAND...: its process is in NAME.pid, and its status will be in NAME.status.
begin() {
    name=$1
    shift
    (
        "$@" 2>>$name.log &
        echo $! >$name.pid
        status=0
        wait $! || status=$?
        echo $status >$name.status
    ) &
    wait_until 60 test -s $name.pid
}
begin_recv() {
    begin $1 "$sidecar" recv $url --ring ring --slots 4 --on-consumer-death $on_death
}
begin_send() {
    begin $1 "$sidecar" send ../epoch.tar $2 --fields "$fields" --batch 6 --slots 4 --on-consumer-death $on_death
}
has_batch() {
    grep -q '^row' $1
}
# holds NAME: a trainer that keeps its first batch until there is a file NAME.go.
holds() {
    begin $1 "$drain" ring $1.go >$1
    wait_until 60 has_batch $1
}
trains() {
    begin $1 "$drain" ring >$1
    wait_until 60 has_batch $1
}
# is_killed NAME...
is_killed() {
    kill_all "$@"
    for name; do
        wait_until 60 test -s $name.status
    done
    rm -f $(printf '%s.pid ' "$@") $(printf '%s.status ' "$@")
}
# ends STATUS NAME...
ends() {
    status=$1
    shift
    for name; do
        wait_until 60 test -s $name.status
        [ "$(cat $name.status)" = $status ] || fail "$round: $name ends with $(cat $name.status): $(tail ./*.log)"
    done
}
# have_all FILE...: and nothing is left.
have_all() {
    cat "$@" | sed '/^end$/d' | whole_batches | sort >all
    cmp ../wanted all || fail "$round: wrong samples: $(diff ../wanted all | cut -c 1-40; tail ./*.log)"
    [ "$(echo ring*)" = 'ring*' ] || fail "$round: these stay: $(ls ring*)"
}
says() {
    grep -q "$1" $2.log || fail "$round: $2 does not say '$1': $(cat $2.log)"
}

for policy in redeliver drop fail release; do
    begin_round tcp $policy
    begin_recv recv
    begin_send send $url
    holds old
    is_killed recv
    begin_recv recv
    trains new
    case $policy in
    release)
        touch old.go
        ends 0 new recv send
        have_all old new
        continue
        ;;
    esac
    is_killed old
    case $policy in
    redeliver)
        ends 0 new recv send
        have_all new
        says 'held batch 0 of a ring whose producer died: it is sent again' recv
        ;;
    drop)
        ends 0 new recv send
        says 'held batch 0 of a ring whose producer died: it is dropped' recv
        have_all new old
        ;;
    fail)
        ends 1 new recv send
        for name in new recv send; do
            says 'died while it held batch 0, when the ring.s producer was dead' $name
        done
        ;;
    esac
done

# The second receiver is killed, too, and its trainer holds another batch.
for killed in 'old' 'older' 'older old' 'receiver older old'; do
    begin_round tcp redeliver $killed
    begin_recv recv
    begin_send send $url
    holds older
    is_killed recv
    begin_recv recv
    holds old
    is_killed recv
    begin_recv recv
    trains new
    case $killed in receiver*)
        is_killed recv older old
        begin_recv recv
        ends 1 new
        begin newest "$drain" ring >newest
        ends 0 newest recv send
        # (What the new one had released only just before may come again: nobody lives who knew.)
        sort -u newest >newest.sorted
        continue
        ;;
    esac
    is_killed $killed
    touch older.go old.go
    ends 0 new recv send
    case $killed in
    old) have_all new older ;;
    older) have_all new old ;;
    *) have_all new ;;
    esac
done

for policy in redeliver drop fail release; do
    begin_round local $policy
    begin_send send local:ring
    holds old
    is_killed send
    begin_send send local:ring
    trains new
    [ $policy = release ] || is_killed old
    touch old.go
    case $policy in
    fail)
        ends 1 new send
        says 'died while it held batch 0, when the ring.s producer was dead' send
        continue
        ;;
    esac
    ends 0 new send
    case $policy in
    redeliver) have_all new ;;
    *) have_all new old ;;
    esac
done

# The file of the ring before has another name as soon as a trainer is at the next one.
has_taken_over() {
    ls ring.state.* >ls.out 2>&1
}
# The ring had ended; who took the rest of it has seen the end, and goes.
begin_round local redeliver ended
begin_send send local:ring
holds old
trains others
ends 0 others
is_killed send
begin_send send local:ring
begin new "$drain" ring >new
wait_until 60 has_taken_over
is_killed old
ends 0 new send
have_all others new

[ -e "$build/zmq.so" ] || exit 0
export SHUFFLEFS_PLUGINS="$build"
begin_round zmq redeliver
begin_recv recv
begin_send send zpush${url#zpull}
holds old
is_killed recv send
begin_recv recv
begin_send send zpush${url#zpull}
trains new
is_killed old
ends 1 recv
says 'batch 0 is lost: the ring.s producer died, then trainer' recv
is_killed send
