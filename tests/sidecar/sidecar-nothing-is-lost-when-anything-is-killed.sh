#!/bin/sh
# SPDX-License-Identifier: MIT
# Trainers that live get each batch of a stream once, with its bytes, and one trainer in order,
# although senders, the receiver, the mount and the link are killed with SIGKILL at random moments,
# one or two of them, and started anew by supervisors; over tcp and local.  $KILLS rounds of each, 4 by
# default; $SEED repeats the moments.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/kills.sh"
requires_fuse
seed=${SEED:-$test_seed}
echo "SEED=$seed"
make_kill_shards
cleanup stop_kills

mount_again() {
    wait_until 60 mount_ds "$work/shards" "$work/mnt" # (one that was killed may still be dying)
    daemon_pid "$work/mnt" >"$work/mount.pid"
}

# wants FILE STREAM...: what trainers get of them.
wants() {
    rm -f parts
    file=$1
    shift
    for stream; do
        "$drain" ring >part 2>drain.log &
        trainer=$!
        "$sidecar" send "$stream" local:ring --fields "$fields" --batch 6
        wait $trainer || fail "$(cat drain.log)"
        cat part >>parts
    done
    cat parts >$file
}

# round KIND VICTIMS SECONDS: 1: one sender and trainer; 2: two of each.
round() {
    case " $2 " in *" mount "*) # without pages of the rounds before
        umount_ds "$work/mnt" || fail "mnt cannot be unmounted"
        mount_again ;;
    esac
    rm -rf "$work/round"
    mkdir "$work/round"
    cd "$work/round"
    cp ../mount.pid .
    touch mount.over
    wanted=$work/wanted
    train 1
    case $1 in
    local) send sender "$work/mnt/epochs/0.tar" local:ring ;;
    tcp)
        connect 1
        send sender "$work/mnt/epochs/0.tar" $target
        ;;
    two)
        wanted=$work/wanted-of-two
        train 2
        connect 2
        send sender "$work/mnt/epochs/0/rank-0-of-2.tar" $target
        send second "$work/mnt/epochs/0/rank-1-of-2.tar" $target
        wait_until 60 test -s second.pid
        ;;
    esac
    wait_until 60 test -s sender.pid
    sleep "$3"
    kill_all $2
    case " $2 " in *" mount "*) mount_again ;; esac
    ends=
    case $2 in receiver | network) ends=sender ;; esac
    case $1 in
    two) end_round 2 $ends ${ends:+second} ;;
    *) end_round 1 $ends ;;
    esac
    cd "$work"
    wait
}

mount_again
wants wanted mnt/epochs/0.tar
[ "$(grep -c batch wanted)" = 40 ] || fail "$(cat wanted)"
wants two mnt/epochs/0/rank-0-of-2.tar mnt/epochs/0/rank-1-of-2.tar
sed '/^end$/d' two | whole_batches | sort >wanted-of-two
# (A rank need not have half of the samples.)
[ "$(grep -o row wanted-of-two | wc -l)" = 240 ] || fail "$(cat wanted-of-two)"

"$python" - "$seed" "${KILLS:-4}" >rounds <<'END'
import random, sys
rng = random.Random(int(sys.argv[1]))
victims = {
    "tcp": ["sender receiver", "receiver network", "mount receiver", "network", "mount", "receiver", "sender"],
    "two": ["receiver", "sender second", "sender receiver", "mount receiver", "sender", "network", "mount"],
    "local": ["sender", "mount"],
}
for kind in victims:
    first = rng.randrange(len(victims[kind]))
    for i in range(int(sys.argv[2])):
        victim = victims[kind][(first + i) % len(victims[kind])]
        print("%s/%s/%.3f" % (kind, victim, rng.uniform(0, 0.2)))
END
while IFS=/ read -r kind victim seconds; do
    round="SEED=$seed $kind $victim $seconds"
    echo "$kind $victim $seconds"
    round $kind "$victim" $seconds
done <rounds
umount_ds mnt
