#!/bin/sh
# SPDX-License-Identifier: MIT
# The plug-in for CUDA and the Python module agree with each other about rings, on a CUDA runtime
# that is made of memfds (tests/lib/fakecudart.c): a batch is there when it is told, GPUs are found by
# their UUIDs, a network card may write where the GPU can show it, and deaths are noticed.  What a real GPU adds, `make check-cuda` tries.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
[ -e "$build/cuda.so" ] || skip "built without CUDA (configure --with-cuda)"
! has_sanitizer ||
    skip "python would need the sanitizer's library"
. "$top/tests/lib/cuda-ring.sh"
find_module
ln -s "$build/tests/lib/fakecudart.so" "$(sed -n 's/^CUDA_SONAME = //p' "$build/Makefile")"
export LD_LIBRARY_PATH="$work" SHUFFLEFS_PLUGINS="$build"

"$build/tests/lib/device-probe" cuda:1 0 >said || fail "no device"
grep -q '^device: cuda, GPU-00000000-0000-0000-0000-000000000001, Fake 1, 155189248 bytes$' said ||
    fail "$(cat said)"
grep -q '^dma-buf: no: the CUDA driver is too old' said || fail "$(cat said)"
# Whether a network card may write there follows the device's attributes.
direct() {
    wanted=$1
    shift
    # shellcheck disable=SC2016 # expanded there
    env "$@" sh -c '"$0/tests/lib/device-probe" "${memory:-cuda}" 0' "$build" >said || fail "no device"
    grep -q "^direct: $wanted" said || fail "$*: $(cat said)"
}
direct 'yes: ordered (GPUDirect RDMA: 1, writes ordering: 100, flush options: 0)' FAKECUDA_ORDERING=100
[ ! -e flushed ] || fail "it flushes what is in order"
direct 'yes: flushed' FAKECUDA_ORDERING=0 FAKECUDA_FLUSHES=1 FAKECUDA_FLUSHED=flushed
[ "$(wc -c <flushed)" = 1000 ] || fail "it does not flush: $(wc -c <flushed)"
direct 'no: the GPU cannot show what a card writes' FAKECUDA_ORDERING=0 FAKECUDA_FLUSHES=2
direct 'no: CUDA cannot show what a card writes over PCIe' FAKECUDA_ORDERING=100 FAKECUDA_COHERENT=1

for lacks in "cuda-fd:3|there is no GPU '3'" "cuda:2|there is no GPU '2'; choose one of 0 (GPU-.*0000) 1 (GPU-.*0001)" \
    "cuda:GPU-1|there is no GPU 'GPU-1'"; do
    "$build/tests/lib/device-probe" "${lacks%%|*}" 0 2>said && fail "${lacks%%|*} is there"
    grep -q "${lacks#*|}" said || fail "$(cat said)"
done
FAKECUDA_BYTES=100000000 "$build/tests/lib/device-probe" cuda 0 2>said && fail "there is memory"
grep -q 'GPU GPU-.*: the ring needs 155 MB, 100 of 100 are free; use fewer --slots' said || fail "$(cat said)"

direct 'no: the GPU has no virtual memory that cards may write to (CUDA error 801)' \
    FAKECUDA_NO_VIRTUAL=2 memory=cuda-fd
FAKECUDA_NO_VIRTUAL=1 "$build/tests/lib/device-probe" cuda-fd 0 2>said && fail "there is virtual memory"
grep -q 'the CUDA driver has no cuMemGetAllocationGranularity(), which cuda-fd needs: use memory cuda' said ||
    fail "$(cat said)"

for CUDA in cuda cuda:GPU-00000000-0000-0000-0000-000000000001 cuda-fd:1; do
    check_contents 200 numpy
done
for CUDA in cuda cuda-fd; do
    check_kills
    check_sidecar
    check_namespaces
    check_exits
done
