# SPDX-License-Identifier: MIT
# A card writes batches into a GPU's memory itself (a fake one's, which can be registered as with
# nvidia-peermem): they are those of a ring on the host, also if they must be flushed to be seen.
# Where that cannot be, they are staged, and the log says why; with --placement direct that is an error.
. "$top/tests/rdma/functions.sh"
mkdir plugins
ln -s "$build/rdma.so" "$build/tests/lib/fakegpu.so" plugins/
export SHUFFLEFS_PLUGINS="$PWD/plugins"
crc=--crc

send_to() {
    target=$1
    shift
    "$sidecar" send "$data/part-0.tar" "$target" --fields "$fields" --batch 30 "$@" 2>send.log
}

# get PLACEMENT OPTION...: the batches that come so into a ring, and all ends that tell of it.
get() {
    placement=$1
    shift
    echo "$*: $placement"
    recv --metrics metrics "$@"
    drain_to got
    send_to "$url" $crc --report-fd 3 3>report || fail "send"
    wait $trainer || fail "the trainer"
    wait $receiver || fail "recv"
    cmp got wanted || fail "other batches"
    [ "$placement" = host ] || grep -q "placement: $placement\$" recv.log || fail "the log"
    grep -q "ring_info{role=\"recv\",.*,placement=\"$placement\"} 1" metrics || fail "$(cat metrics)"
    tail -n 1 report | grep -q "\"placement\":\"$placement\"" || fail "$(tail -n 1 report)"
}

drain_to wanted
send_to local:ring
wait $trainer || fail "local"
[ "$(grep -c ^row wanted)" = 1334 ] || fail "$(wc -l wanted)"
get host
at="$ADDRESS:0?device=nearest"
get peermem --memory fakegpu --placement direct
grep -q 'recv: rxe0 is the RDMA device nearest to the GPU at ffff:00:1f.7' recv.log || fail "$(cat recv.log)"
at=
get staged --memory fakegpu --placement staged
! grep -q 'cannot write' recv.log || fail "nobody asked for it"
(
    export FAKEGPU_ORDERING=none
    crc= # (which would flush as well)
    get peermem --memory fakegpu:1
)
why="rxe0 cannot write into GPU FAKE-0.*: by dma-buf: .*; by peermem: Bad address (is nvidia-peermem loaded?)"
(
    export FAKEGPU_NO_PEERMEM=1
    get staged --memory fakegpu
    grep -q "$why" recv.log || fail "it does not say why"
    recv --memory fakegpu --placement direct
    ! send_to "$url" || fail "nothing can be registered, and it sends"
    ! wait $receiver || fail "nothing can be registered, and it receives"
    [ "$(grep -c -e "--placement direct: $why" recv.log)" = 1 ] || fail "it does not say why, once"
    grep -q "the receiver has ended: --placement direct: $why" send.log || fail "the sender was not told"
)
(
    export FAKEGPU_ORDERING=no-flush
    get staged --memory fakegpu
    grep -q 'rxe0 cannot write into GPU FAKE-0, .*: it cannot show what a card writes' recv.log || fail "why"
)

# So does the plug-in for CUDA, on a runtime of memfds; it flushes each batch, if the GPU needs that.
[ -e "$build/cuda.so" ] || exit 0
ln -s "$build/cuda.so" plugins/
ln -s "$build/tests/lib/fakecudart.so" "$(sed -n 's/^CUDA_SONAME = //p' "$build/Makefile")"
export LD_LIBRARY_PATH="$PWD"
crc=
export FAKECUDA_FLUSHED="$PWD/flushed"
get peermem --memory cuda --placement direct
[ ! -e flushed ] || fail "it flushes what is in order"
(
    export FAKECUDA_ORDERING=0 FAKECUDA_FLUSHES=1
    get peermem --memory cuda
    [ "$(wc -c <flushed)" = "$(grep -c ^batch got)" ] || fail "$(wc -c <flushed) flushes"
)
get peermem --memory cuda-fd:1 --placement direct
(
    export FAKECUDA_COHERENT=1
    get staged --memory cuda
)
