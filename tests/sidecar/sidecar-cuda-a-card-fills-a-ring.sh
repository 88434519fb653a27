#!/bin/sh
# SPDX-License-Identifier: MIT
# On a real GPU and a real RDMA card: batches that the card brings into the GPU's memory, by each
# placement, are those of a ring on the host.  Says which placements there are, and why others are not.
# RDMA_ADDRESS: that of an interface with an RDMA device, if not the first is to be tried.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
[ -e "$build/cuda.so" ] || skip "built without CUDA (configure --with-cuda)"
[ -e "$build/rdma.so" ] || skip "built without RDMA (configure --with-verbs)"
[ -e "${GPU_DEVICE:-/dev/nvidiactl}" ] || skip "no GPU: there is no /dev/nvidiactl"
! has_sanitizer || skip "CUDA and sanitizers do not mix"
requires ip

# The IPv4 address of the first RDMA device that has one.
find_address() {
    for device in /sys/class/infiniband/*; do
        for net in "$device"/device/net/*; do # (of soft-RoCE there is none)
            basename "$net"
        done
        cat "$device/parent" 2>lacks || :
    done | while read -r net; do
        ip -o -4 addr show dev "$net" 2>lacks | sed -n 's|.* inet \([0-9.]*\)/.*|\1|p'
    done | head -n 1
}
address=${RDMA_ADDRESS:-$(find_address)}
[ -n "$address" ] || skip "no RDMA device with an IPv4 address; RDMA_ADDRESS would name one"

. "$top/tests/lib/cuda-ring.sh"
find_module
LD_LIBRARY_PATH=${CUDA_LIBRARIES:-$(sed -n 's/^CUDA_LIBDIR = //p' "$build/Makefile")}${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH SHUFFLEFS_PLUGINS="$build"
sidecar=$build/shufflefs-sidecar
make_shards data --shards 1 --samples 400

send() {
    "$sidecar" send data/*.tar "$@" --fields cls:bytes,65536 --batch 7 2>send.log
}
drain() {
    "$python" "$top/tests/lib/ring-hashes.py" ring >got 2>trainer.log &
    trainer=$!
}

drain
send local:ring || fail "$(cat send.log)"
wait $trainer || fail "$(cat trainer.log)"
mv got wanted
[ "$(wc -l <wanted)" = 59 ] || fail "$(cat wanted)"

# fill MEMORY PLACEMENT [OPTION]: over RDMA.
fill() {
    rm -f recv.log # of the one before
    "$sidecar" recv "rdma://$address:0" --insecure --ring ring --memory "$1" --placement "$2" 2>recv.log &
    receiver=$!
    wait_until 60 grep -q 'senders on' recv.log
    drain
    # shellcheck disable=SC2086 # there is an option, or none
    send "$(sed -n 's/.*senders on //p' recv.log)" ${3:-} || :
    if ! wait $receiver; then
        kill $trainer || :
        wait $trainer || :
        return 1
    fi
    wait $trainer
}

# try MEMORY PLACEMENT: says how the batches came.
try() {
    if ! fill "$@"; then
        if [ "$2" != direct ] || ! grep -q 'placement direct: ' recv.log; then
            fail "$*: $(cat recv.log send.log trainer.log)"
        fi
        echo "$*: not possible here: $(sed -n 's/.*placement direct: //p' recv.log)"
        return
    fi
    cmp got wanted || fail "$*: other batches, by $(sed -n 's/.*placement: //p' recv.log)"
    echo "$*: the same batches; placement: $(sed -n 's/.*placement: //p' recv.log)"
}
for memory in cuda cuda-fd; do
    for placement in direct auto staged; do
        try $memory $placement
    done
    try $memory auto --crc
done
