#!/bin/sh
# SPDX-License-Identifier: MIT
# A trainer that lives gets each batch of a stream once, with its bytes and in order, although
# the sender, the receiver, the mount or the link is killed with SIGKILL at a random moment, and
# started anew by a supervisor; over tcp and local.  $KILLS rounds of each, 5 by default; $SEED
# repeats the moments.
. "${srcdir:-$(dirname "$0")/..}/tests/functions.sh"
requires_fuse
sidecar=$build/shufflefs-sidecar
drain=$build/tests/ring-drain
seed=${SEED:-$test_seed}
echo "SEED=$seed"

# 240 samples of 12 KiB, which are 40 batches.
"$python" - <<'END'
import io, os, random, tarfile
rng = random.Random(3)
os.mkdir("shards")
for shard in range(4):
    with tarfile.open("shards/%d.tar" % shard, "w", format=tarfile.USTAR_FORMAT) as tar:
        for i in range(60 * shard, 60 * shard + 60):
            for extension, data in ("img", rng.randbytes(12288)), ("cls", b"%d" % i):
                member = tarfile.TarInfo("%06d.%s" % (i, extension))
                member.size = len(data)
                tar.addfile(member, io.BytesIO(data))
END
cat >link.py <<'END'
"""link.py PORT TARGET: carries bytes between a port and another."""
import socket, sys, threading

def carry(source, sink):
    try:
        while data := source.recv(65536):
            sink.sendall(data)
    except OSError:
        pass
    for s in source, sink:
        try:
            s.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

listener = socket.create_server(("127.0.0.1", int(sys.argv[1])), reuse_port=False)
print(listener.getsockname()[1], flush=True)
while True:
    near = listener.accept()[0]
    try:
        far = socket.create_connection(("127.0.0.1", int(sys.argv[2])))
    except OSError:
        near.close()
        continue
    for pair in (near, far), (far, near):
        threading.Thread(target=carry, args=pair, daemon=True).start()
END

# supervise NAME COMMAND...: again and again until it exits with 0, or there is a file stop;
# NAME.pid is its process, and NAME.over says that there will be no more.
supervise() {
    name=$1
    shift
    until
        "$@" >>$name.out 2>>$name.log &
        echo $! >$name.pid
        wait $! && touch $name.done
    do
        [ ! -e stop ] || break
        sleep 0.02
    done
    touch $name.over
}

mount_again() {
    wait_until 60 mount_ds shards mnt # (one that was killed may still be dying)
    daemon_pid mnt >mount.pid
}

free_port() {
    "$python" -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

fields='img:raw,u1,3x64x64;cls'
send() {
    supervise sender "$sidecar" send mnt/epochs/0.tar "$1" --fields "$fields" --batch 6 --slots 2
}

# round TRANSPORT VICTIM SECONDS
round() {
    rm -f stop sender.* receiver.* network.*
    if [ $2 = mount ]; then # without pages of the rounds before
        umount_ds mnt || fail "mnt cannot be unmounted"
        mount_again
    fi
    "$drain" --again 5000 ring >got 2>drain.log &
    trainer=$!
    names=sender
    if [ $1 = tcp ]; then
        port=$(free_port)
        near=$(free_port)
        supervise receiver "$sidecar" recv tcp://127.0.0.1:$port --ring ring --slots 2 &
        supervise network "$python" link.py $near $port &
        names="sender receiver network"
        target=tcp://127.0.0.1:$near
        wait_until 60 test -s network.out
    else
        target=local:ring
    fi
    send $target &
    wait_until 60 test -s sender.pid
    sleep "$3"
    kill -9 "$(cat $2.pid)" 2>/dev/null || :
    [ $2 != mount ] || mount_again
    wait $trainer || fail "$*: the trainer: $(tail drain.log)"
    cmp got wanted || fail "$*: SEED=$seed: $(diff wanted got | head -n 20; tail ./*.log)"
    case $2 in receiver | network) wait_until 60 test -e sender.done ;; esac
    touch stop
    for name in $names; do
        until [ -e $name.over ]; do
            kill -9 "$(cat $name.pid)" 2>/dev/null || :
            sleep 0.02
        done
    done
    wait
    rm -f ring ring.*
}

mount_again
cleanup 'touch "$work/stop"; for p in sender receiver network; do kill -9 "$(cat "$work/$p.pid")"; done 2>/dev/null'
"$drain" ring >wanted 2>drain.log &
trainer=$!
"$sidecar" send mnt/epochs/0.tar local:ring --fields "$fields" --batch 6
wait $trainer || fail "$(cat drain.log)"
[ "$(grep -c batch wanted)" = 40 ] || fail "$(cat wanted)"

"$python" - "$seed" "${KILLS:-5}" >rounds <<'END'
import random, sys
rng = random.Random(int(sys.argv[1]))
victims = {"tcp": ["sender", "receiver", "mount", "network"], "local": ["sender", "mount"]}
for transport in victims:
    for i in range(int(sys.argv[2])):
        victim = victims[transport][i % len(victims[transport])]
        print(transport, victim, "%.3f" % rng.uniform(0, 0.2))
END
while read -r transport victim seconds; do
    echo "$transport $victim $seconds"
    round $transport $victim $seconds
done <rounds
umount_ds mnt
