# SPDX-License-Identifier: MIT
"""What a ring gives, in the host's memory or in CUDA's.

  ring-hashes.py RING

Prints a line for each batch, with its samples and a hash of each tensor, and "end".
"""
import ctypes
import hashlib
import math
import sys

import shufflefs


def read(ring, batch, name):
    """The bytes of a tensor, on the host."""
    if ring.memory.kind == "host":
        return bytes(memoryview(batch[name]).cast("B"))
    interface = batch[name].__cuda_array_interface__
    n = math.prod(interface["shape"]) * int(interface["typestr"][2:])
    host = ctypes.create_string_buffer(n)
    ring._mapping._runtime.call("cudaMemcpy", host, ctypes.c_void_p(interface["data"][0]),
                                ctypes.c_size_t(n), 2)
    return host.raw


ring = shufflefs.Ring(sys.argv[1], timeout=60)
for batch in ring:
    print(batch.first, batch.end, *(hashlib.sha1(read(ring, batch, name)).hexdigest() for name in batch))
print("end")
ring.close()
