# SPDX-License-Identifier: MIT
# What a ring in CUDA memory must do, for the tests that run it on a GPU and on a runtime without one.
# $CUDA is the --memory that is tried, and SHUFFLEFS_PLUGINS has cuda.so.

producer=$build/tests/lib/ring-producer

# find_module: $python and PYTHONPATH have the module shufflefs, built here; or that of $SHUFFLEFS_MODULE, the
# folder of a module that is built already, for a machine without Python's headers.
find_module() {
    if [ -n "${SHUFFLEFS_MODULE:-}" ]; then
        export PYTHONPATH="$SHUFFLEFS_MODULE"
        return
    fi
    . "$top/tests/lib/python-module.sh"
    has_module sys # (not every trainer needs numpy)
}

trainer() {
    "$python" "$top/tests/lib/cuda-trainer.py" ring "$@"
}

# produce N: becomes a producer of N batches, and then the end.
produce() {
    { i=0; while [ $i -lt "$1" ]; do echo batch 4; i=$((i + 1)); done; echo end; echo consumed; } >lines
    exec "$producer" ring 4 "$CUDA" <lines >produced
}

# check_contents N LIBRARY: all batches come to another process, with their bytes.
check_contents() {
    produce "$1" &
    trainer "$2" >got || fail "$2: the trainer failed"
    wait $! || fail "$2: the producer failed"
    [ "$(grep -c '^batch ' got)" = "$1" ] || fail "$2: $(tail -n 3 got)"
    [ "$(tail -n 1 got)" = end ] || fail "$2: $(tail -n 3 got)"
}

# check_kills: a trainer that dies with a batch, and a producer that dies.
check_kills() {
    produce 20 &
    trainer numpy die >got && fail "it was to be killed"
    trainer >got || fail "the next trainer failed"
    wait $!
    grep -q '^batch 0 ' got || fail "what the dead held came to nobody: $(head -n 3 got)"

    [ -e commands ] || mkfifo commands
    "$producer" ring 4 "$CUDA" <commands >produced &
    killed=$!
    exec 8>commands
    echo batch 4 >&8
    rm got # the last one's has a batch 0, too
    trainer >got 2>errors &
    wait_until 60 grep -q '^batch 0 ' got
    kill -9 $killed
    wait $! && fail "nobody noticed the producer's death"
    grep -q 'producer died' errors || fail "$(cat errors)"
    exec 8>&-
}

# check_sidecar: `send` and `recv` bring to such a ring what they bring to one on the host, also if the
# sender, the receiver or the trainer is killed and started again.
check_sidecar() {
    sidecar=$build/shufflefs-sidecar
    fields='jpg:bytes,6000;cls:bytes,16'
    [ -e data ] || make_shards data --shards 1 --samples 400
    tcp=tcp://127.0.0.1:$("$python" -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1])')
    touch go
    fill_from "$sidecar" send data/*.tar local:ring --fields "$fields" --batch 7
    [ "$(wc -l <got)" = 59 ] || fail "$(cat got)"
    mv got wanted
    to_local="send data/*.tar local:ring?memory=$CUDA --fields $fields --batch 7 --slots 3"
    to_tcp="send data/*.tar $tcp --fields $fields --batch 7 --slots 3"
    from_tcp="recv $tcp --ring ring --slots 3 --memory $CUDA --on-consumer-death redeliver"
    for way in local tcp tcp_with_crc local_dies sender_dies receiver_dies trainer_dies; do
        fill_from over_$way
        if [ $way = trainer_dies ]; then # (what it held comes twice)
            cat got got-by-the-dead | sort -u >all
            sort -u wanted >sorted
            cmp all sorted || fail "$way: lost or changed: $(diff all sorted)"
        else
            cmp got wanted || fail "$way: other batches: $(diff got wanted) $(cat log drain.log)"
        fi
        case $way in local_dies | receiver_dies)
            grep -q 'producer died' drain.log || fail "$way: nobody was killed: $(cat drain.log)" ;;
        esac
    done
}

# fill_from COMMAND...: what a trainer gets of it, to "got".
fill_from() {
    rm -f got # (somebody waits for the first line of it)
    "$python" "$top/tests/lib/ring-hashes.py" ring --again --hold go >got 2>drain.log &
    trainer=$!
    "$@"
    [ -z "$trainer" ] || wait $trainer || fail "$*: $(cat drain.log)"
}

# shellcheck disable=SC2086 # words; no field has a space
run_sidecar() {
    exec "$sidecar" $1 ${2:-} 2>>log
}
# until_held PID: kill it when the trainer has its first batch.
kill_when_held() {
    wait_until 60 test -s got
    kill -9 "$1"
    wait "$1" || :
}
over_local() {
    (run_sidecar "$to_local") || fail "$(cat log)"
}
over_tcp() {
    (run_sidecar "$from_tcp") &
    receiver=$!
    (run_sidecar "$to_tcp" "${1:-}") || fail "$(cat log)"
    wait $receiver || fail "$(cat log)"
}
over_tcp_with_crc() {
    over_tcp --crc
}
over_local_dies() {
    rm go
    (run_sidecar "$to_local") &
    kill_when_held $!
    touch go
    over_local
}
over_sender_dies() {
    rm go
    (run_sidecar "$from_tcp") &
    receiver=$!
    (run_sidecar "$to_tcp") &
    kill_when_held $!
    touch go
    (run_sidecar "$to_tcp") || fail "$(cat log)"
    wait $receiver || fail "$(cat log)"
}
over_receiver_dies() {
    rm go
    (run_sidecar "$to_tcp") &
    sender=$!
    (run_sidecar "$from_tcp") &
    kill_when_held $!
    touch go
    (run_sidecar "$from_tcp") || fail "$(cat log)"
    wait $sender || fail "$(cat log)"
}
over_trainer_dies() {
    rm go
    (run_sidecar "$to_tcp") &
    sender=$!
    (run_sidecar "$from_tcp") &
    receiver=$!
    kill_when_held $trainer
    cp got got-by-the-dead
    touch go
    "$python" "$top/tests/lib/ring-hashes.py" ring >got 2>drain.log || fail "$(cat drain.log)"
    wait $sender || fail "$(cat log)"
    wait $receiver || fail "$(cat log)"
    trainer=
}

# check_namespaces: a trainer in another PID namespace is refused, or with a descriptor served.
check_namespaces() {
    if ! unshare --pid --fork --mount-proc true 2>/dev/null; then
        echo "PID namespaces: not tried, that needs root"
        return
    fi
    produce 20 &
    elsewhere="unshare --pid --fork --mount-proc $python $top/tests/lib/cuda-trainer.py ring numpy"
    case $CUDA in
    cuda-fd*)
        $elsewhere >got || fail "a trainer in another PID namespace: $(tail -n 3 got)"
        [ "$(grep -c '^batch ' got)" = 20 ] || fail "$(tail -n 3 got)"
        ;;
    *)
        $elsewhere >got 2>errors && fail "another PID namespace is fine"
        grep -q 'in another PID namespace, where CUDA cannot open it' errors || fail "$(cat errors)"
        trainer numpy >got || fail "its own namespace"
        ;;
    esac
    wait $!
}

# check_exits: trainers that end, fork, or destroy a stream with a batch in their hands, without a word.
check_exits() {
    for way in kept static fork gone; do
        produce 5 &
        "$python" "$top/tests/lib/cuda-exits.py" ring $way >got 2>errors || fail "$way: exit $?: $(cat errors)"
        [ ! -s errors ] || fail "$way: $(cat errors)"
        case $way in
        fork)
            grep -q 'a child of fork()' got || fail "$way: $(cat got)"
            grep -q '^4 batches more$' got || fail "$way: $(cat got)"
            ;;
        gone) ;;
        *) # it was given back; what a library had when Python had ended, others get
            trainer >got || fail "$way: the next trainer failed"
            [ "$(head -n 1 got | cut -d' ' -f2)" = "$([ $way = kept ] && echo 1 || echo 0)" ] || fail "$way: $(cat got)"
            ;;
        esac
        wait $!
    done
}
