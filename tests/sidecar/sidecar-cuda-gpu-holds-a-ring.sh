#!/bin/sh
# SPDX-License-Identifier: MIT
# On a real GPU, with memory that is handed over as an IPC handle and as a descriptor: the plug-in loads
# and tells the device, 10,000 batches come to another process with their bytes, torch, cupy and JAX take
# them where they lie, no batch is filled again before streams are done with it, deaths are noticed, and
# `send` and `recv` bring what they bring to the host.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
[ -e "$build/cuda.so" ] || skip "built without CUDA (configure --with-cuda)"
[ -e "${GPU_DEVICE:-/dev/nvidiactl}" ] || skip "no GPU: there is no /dev/nvidiactl"
! has_sanitizer || skip "CUDA and sanitizers do not mix"
. "$top/tests/lib/cuda-ring.sh"
find_module
LD_LIBRARY_PATH=${CUDA_LIBRARIES:-$(sed -n 's/^CUDA_LIBDIR = //p' "$build/Makefile")}${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH SHUFFLEFS_PLUGINS="$build"

"$build/tests/lib/device-probe" "cuda:$("$build/tests/lib/device-probe" cuda 0 | sed 's/.*\(GPU-[0-9a-f-]*\).*/\1/;q')" 0 ||
    fail "not found by its UUID"
# check_streams LIBRARY: its late copies have the batches' bytes; those of a trainer that does not wait have not.
check_streams() {
    for mode in current temporary named interface hasty; do
        produce 24 &
        "$python" "$top/tests/lib/cuda-streams.py" ring "$1" $mode >got || fail "$1: the trainer failed"
        wait $!
        case $mode in
        hasty) ! grep -q '^24 batches, 0 over' got || fail "$1: the slots were not filled again: this proves nothing" ;;
        *) grep -q '^24 batches, 0 over' got || fail "$1, $mode: $(cat got)" ;;
        esac
    done
    echo "$1: no batch was filled while a stream had it"
}

for CUDA in cuda cuda-fd; do
    echo "memory: $CUDA"
    "$build/tests/lib/device-probe" $CUDA 2 || fail "no device"
    check_contents 10000 numpy
    for library in torch cupy jax; do
        if "$python" -c "import $library" 2>/dev/null; then
            check_contents 1000 $library
            echo "$library: 1000 batches"
            [ $library = jax ] || check_streams $library
        else
            echo "$library: not installed, not tried"
        fi
    done
    check_kills
    check_sidecar
    check_namespaces
    check_exits
done
