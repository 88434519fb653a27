#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How fast a GPU copies from the host's memory, by the CUDA runtime alone: what the plug-in is held to.

  bench/cuda-copies.py [SECONDS [BYTES]]

cudaMemcpyAsync() of BYTES (default: 256 images of 224x224x3), four in flight on one stream, from memory that
cudaHostAlloc() made; from a memfd that cudaHostRegister() pinned, as the slots of a ring are; and of pages that are not pinned.
Needs libcudart on LD_LIBRARY_PATH, and nothing else.
"""
import ctypes
import mmap
import os
import sys
import time

seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 3
n_bytes = int(sys.argv[2]) if len(sys.argv) > 2 else 38535168
DEPTH = 4
TO_DEVICE, NON_BLOCKING, BLOCKING_SYNC_DISABLE_TIMING = 1, 1, 3
for name in "libcudart.so.13", "libcudart.so.12", "libcudart.so":
    try:
        library = ctypes.CDLL(name)
        break
    except OSError:
        pass
else:
    sys.exit("cuda-copies: there is no libcudart")


def call(name, *args):
    error = getattr(library, name)(*args)
    if error:
        library.cudaGetErrorString.restype = ctypes.c_char_p
        sys.exit("%s: %s" % (name, library.cudaGetErrorString(error).decode()))


def measure(host):
    stream, events, device = ctypes.c_void_p(), [], ctypes.c_void_p()
    call("cudaMalloc", ctypes.byref(device), ctypes.c_size_t(DEPTH * n_bytes))
    call("cudaStreamCreateWithFlags", ctypes.byref(stream), ctypes.c_uint(NON_BLOCKING))
    for _ in range(DEPTH):
        events.append(ctypes.c_void_p())
        call("cudaEventCreateWithFlags", ctypes.byref(events[-1]), ctypes.c_uint(BLOCKING_SYNC_DISABLE_TIMING))
    begin, n = time.perf_counter(), 0
    while time.perf_counter() - begin < seconds:
        i = n % DEPTH
        if n >= DEPTH:
            call("cudaEventSynchronize", events[i])
        call("cudaMemcpyAsync", ctypes.c_void_p(device.value + i * n_bytes), ctypes.c_void_p(host + i * n_bytes),
             ctypes.c_size_t(n_bytes), TO_DEVICE, stream)
        call("cudaEventRecord", events[i], stream)
        n += 1
    call("cudaStreamSynchronize", stream)
    rate = n * n_bytes / (time.perf_counter() - begin) / 1e9
    call("cudaFree", device)
    return rate


def map_shared():
    fd = os.memfd_create("copies")
    os.ftruncate(fd, DEPTH * n_bytes)
    memory = mmap.mmap(fd, DEPTH * n_bytes)
    for at in range(0, DEPTH * n_bytes, 4096):
        memory[at] = 1
    return memory, ctypes.addressof(ctypes.c_char.from_buffer(memory))


pinned = ctypes.c_void_p()
call("cudaHostAlloc", ctypes.byref(pinned), ctypes.c_size_t(DEPTH * n_bytes), ctypes.c_uint(0))
ctypes.memset(pinned, 1, DEPTH * n_bytes)
print("cudaHostAlloc: %.2f GB/s" % measure(pinned.value), flush=True)
memory, address = map_shared()
begin = time.perf_counter()
call("cudaHostRegister", ctypes.c_void_p(address), ctypes.c_size_t(DEPTH * n_bytes), ctypes.c_uint(1))
print("a memfd, cudaHostRegister: %.2f GB/s; to pin %.0f MB took %.0f ms" % (
    measure(address), DEPTH * n_bytes / 1e6, 1e3 * (time.perf_counter() - begin) - 1e3 * seconds), flush=True)
call("cudaHostUnregister", ctypes.c_void_p(address))
print("a memfd, not pinned: %.2f GB/s" % measure(address), flush=True)
