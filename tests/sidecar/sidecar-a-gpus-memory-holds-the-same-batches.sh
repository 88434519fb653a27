#!/bin/sh
# SPDX-License-Identifier: MIT
# A ring in a GPU's memory (a fake one) has the batches that one in the host's has, from local and
# from tcp; it goes on after its sender or receiver was killed; statistics say where it lies; and a
# trainer in another PID namespace, which could not open it, is told so.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
sidecar=$build/shufflefs-sidecar
drain=$build/tests/lib/ring-drain
export SHUFFLEFS_PLUGINS="$build/tests/lib"
make_shards data --shards 1 --samples 240
fields='cls:bytes,4096'

# batches COMMAND...: what a trainer gets from what the command sends, to "got"; it keeps the first
# batch until there is a file "go".
batches() {
    rm -f got
    "$drain" --again 0 ring go >got 2>drain.log &
    trainer=$!
    "$@"
    wait $trainer || fail "$*: $(cat drain.log)"
}

send() {
    "$sidecar" send data/*.tar "$1" --fields "$fields" --batch 7 --slots 3 --report-fd 3 3>report
}

touch go
batches send local:ring
[ "$(grep -c batch got)" = 35 ] || fail "$(cat got drain.log)"
mv got wanted

batches send 'local:ring?memory=fakegpu:1'
cmp got wanted
grep -q '"memory":{"kind":"fakegpu","device":"FAKE-1","name":"a memfd","placement":"staged"}' report ||
    fail "$(tail -n 1 report)"

# From tcp: a receiver, killed or not; its port is free when it is killed.
port=$("$python" -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1])')
receive() {
    exec "$sidecar" recv tcp://127.0.0.1:$port --ring ring --slots 3 --memory fakegpu --metrics metrics 2>recv.log
}
over_tcp() {
    receive &
    send tcp://127.0.0.1:$port
    wait $!
}
batches over_tcp
cmp got wanted
grep -q '^recv: batches lie in fakegpu FAKE-0; placement: staged$' recv.log || fail "$(cat recv.log)"
grep -q '^shufflefs_sidecar_ring_info{role="recv",name="metrics",memory="fakegpu",device="FAKE-0",placement="staged"} 1$' metrics ||
    fail "$(cat metrics)"

# again_after_a_kill COMMAND...: kill -9 when the trainer has the first batch, then once more.
again_after_a_kill() {
    rm go
    "$@" >first.log 2>&1 &
    wait_until 60 grep -q '^batch ' got
    kill -9 $!
    wait $! || :
    touch go
    "$@"
}
batches again_after_a_kill "$sidecar" send data/*.tar 'local:ring?memory=fakegpu' --fields "$fields" --batch 7 --slots 3
cmp got wanted
grep -q 'producer died' drain.log || fail "nobody was killed: $(cat drain.log)"

receive_again() {
    send tcp://127.0.0.1:$port &
    sender=$!
    again_after_a_kill "$sidecar" recv tcp://127.0.0.1:$port --ring ring --slots 3 --memory fakegpu
    wait $sender
}
batches receive_again
cmp got wanted
grep -q 'producer died' drain.log || fail "nobody was killed: $(cat drain.log)"

# A copy that fails is an error on both sides (the 6th: 3 slots wait for a trainer).
"$drain" ring >got 2>drain.log &
trainer=$!
FAKEGPU_FAILS_AT=6 send 'local:ring?memory=fakegpu' 2>log && fail "a failed copy is no error"
wait $trainer && fail "the trainer did not see it"
grep -q 'GPU FAKE-0: the copy into slot . failed' log || fail "$(cat log)"
grep -q 'GPU FAKE-0: the copy into slot . failed' drain.log || fail "$(cat drain.log)"

# What is refused.
check_error() {
    send "$1" 2>log && fail "$1 is fine"
    grep -q "$2" log || fail "$1: $(cat log)"
    [ "$(wc -l <log)" = 1 ] || fail "$1: not one line: $(cat log)"
}
check_error 'local:ring?memory=fakegpu:7' "there is no GPU '7'; choose one of FAKE-0 FAKE-1"
FAKEGPU_BYTES=50000 check_error 'local:ring?memory=fakegpu' 'needs 98304 bytes, 50000 are free'
check_error 'local:ring?memory=gpu' "'gpu' is not a place for a ring; use host, cuda, cuda:UUID or cuda:N"
refuses() {
    words=$1
    shift
    "$sidecar" recv "$@" --ring ring 2>log && fail "$* is fine"
    grep -q -e "$words" log || fail "$*: $(cat log)"
    [ "$(wc -l <log)" = 1 ] || fail "$*: not one line: $(cat log)"
}
refuses '--placement direct: only senders of rdma:// can write into a GPU.s memory, not those of tcp://' \
    tcp://127.0.0.1:$port --memory fakegpu --placement direct
refuses '--placement is for a ring in a GPU.s memory: add --memory cuda' tcp://127.0.0.1:$port --placement staged
refuses "--placement is auto, direct or staged, not 'fast'" tcp://127.0.0.1:$port --memory fakegpu --placement fast
check_error 'local:ring?colour=red' 'only ?memory= can follow the path'
SHUFFLEFS_PLUGINS=$work check_error 'local:ring?memory=cuda' "$work/cuda.so: No such file.*configure --with-cuda=DIR"

# As a descriptor.
batches send 'local:ring?memory=fakegpu-fd:1'
cmp got wanted
grep -q '"memory":{"kind":"fakegpu-fd","device":"FAKE-1"' report || fail "$(tail -n 1 report)"

unshare --pid --fork true 2>/dev/null || exit 0 # (needs root)
send 'local:ring?memory=fakegpu' 2>log &
sender=$!
unshare --pid --fork --mount-proc "$drain" ring >got 2>drain.log && fail "another PID namespace is fine"
grep -q "trainer in another PID namespace, where CUDA cannot open it" drain.log || fail "$(cat drain.log)"
"$drain" ring >got || fail "its own namespace"
wait $sender

batches_elsewhere() {
    send 'local:ring?memory=fakegpu-fd' 2>log &
    sender=$!
    unshare --pid --fork --mount-proc "$drain" ring >got 2>drain.log || fail "$(cat drain.log)"
    wait $sender
}
batches_elsewhere
cmp got wanted
