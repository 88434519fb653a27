# SPDX-License-Identifier: MIT
# What tests share that kill senders, receivers, mounts and links: shards, a link, supervisors.
# Each round has a folder of its own.

sidecar=$build/shufflefs-sidecar
drain=$build/tests/lib/ring-drain
fields='img:raw,u1,3x64x64;cls'

# 240 samples of 12 KiB, which are 40 batches.
make_kill_shards() {
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
"""link.py PORT TARGET: carries bytes between a port and another.  While there is a file "silent",
it holds back what goes in the directions that the file names: 0 is to the target, 1 from it."""
import os, socket, sys, threading, time

def wait(direction):
    while True:
        try:
            if direction not in open("silent").read():
                return
        except FileNotFoundError:
            return
        time.sleep(0.02)

def carry(source, sink, direction):
    try:
        while data := source.recv(65536):
            wait(direction)
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
    for args in (near, far, "0"), (far, near, "1"):
        threading.Thread(target=carry, args=args, daemon=True).start()
END
}

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

free_port() {
    "$python" -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# train N [HOLD]: takes batches into got.N, the first until there is a file HOLD; its process is in
# trainer.N.
train() {
    "$drain" --again 5000 ring ${2:-} >got.$1 2>drain.$1.log &
    echo $! >trainer.$1
    # One that came when another has taken all batches would wait for the next ring.
    wait_until 60 grep -q ring-drain /proc/$!/comm
}

# send NAME FILE TARGET
send() {
    supervise $1 "$sidecar" send "$2" "$3" --fields "$fields" --batch 6 --slots 2 &
}

# connect SENDERS: a receiver and a link to it; $target is the link.
connect() {
    far=$(free_port)
    near=$(free_port)
    supervise receiver "$sidecar" recv tcp://127.0.0.1:$far --ring ring --slots 2 --senders $1 &
    supervise network "$python" "$work/link.py" $near $far &
    target=tcp://127.0.0.1:$near
    wait_until 60 test -s network.out
}

# end_round TRAINERS [SENDER...]: all that trainers have got is what the file $wanted says, in order if
# there is one trainer; and these senders have heard so.
end_round() {
    for n in $(seq "$1"); do
        wait "$(cat trainer.$n)" || fail "$round: a trainer: $(tail drain.$n.log)"
    done
    if [ "$1" = 1 ]; then
        cat got.1 >got
    else
        cat got.* | sed '/^end$/d' | whole_batches | sort >got
    fi
    cmp got "$wanted" || fail "$round: $(diff "$wanted" got | head -n 20; tail ./*.log)"
    shift
    for name; do
        wait_until 60 test -e $name.done
    done
    end_supervisors
}

end_supervisors() {
    touch stop
    for file in *.pid; do
        name=${file%.pid}
        until [ -e $name.over ]; do
            kill -9 "$(cat $name.pid)" 2>/dev/null || :
            sleep 0.02
        done
    done
}

# Each batch in a line.
whole_batches() {
    awk '/^batch/ { if (NR > 1) print line; line = $0; next } { line = line " " $0 } END { print line }'
}

# kill_all NAME...
kill_all() {
    for name; do
        kill -9 "$(cat $name.pid)" 2>/dev/null || :
    done
}

stop_kills() {
    touch "$work/stop" "$work"/*/stop
    for p in "$work"/*/*.pid; do
        kill -9 "$(cat "$p")" 2>/dev/null || :
    done
}
