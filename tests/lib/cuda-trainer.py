# SPDX-License-Identifier: MIT
"""A trainer on a ring in CUDA memory, which looks at the bytes with nothing but libcudart, or with a library.

  cuda-trainer.py RING [numpy|torch|cupy|jax] [die]

The batches are those of tests/lib/ring-producer: each tensor is compared.  Prints a line for each batch,
and "end"; and once, to standard error, which types the library does not take.  With die, it kills itself
while it holds the first batch.
"""
import ctypes
import math
import os
import signal
import struct
import sys

import shufflefs

library, die = (sys.argv + ["numpy"])[2], sys.argv[3:] == ["die"]
WANTED = {  # of sample s
    "jpg": lambda s: bytes((s + i) % 256 for i in range(192)),
    "cls": lambda s: struct.pack("<i", s),
    "emb": lambda s: struct.pack("<f", s) * 5,
    "half": lambda s: struct.pack("<f", s)[2:] * 3,
    "is_odd": lambda s: bytes([s % 2]),
    "wide": lambda s: struct.pack("<H", s) * 2,
}
MAY_LACK = {"numpy": ["half"], "cupy": ["half"]}.get(library, [])
lacks = set()


def to_host(batch, name, ring):
    """The bytes of a tensor, as the library sees them."""
    if library == "torch":
        import torch
        return batch.torch(name).contiguous().view(torch.uint8).cpu().numpy().tobytes()
    if library == "cupy":
        return batch.cupy(name).get().tobytes()
    if library == "jax":
        import jax.dlpack
        import numpy
        return numpy.asarray(jax.dlpack.from_dlpack(batch[name])).tobytes()
    interface = batch[name].__cuda_array_interface__
    n = math.prod(interface["shape"]) * int(interface["typestr"][2:])
    host = ctypes.create_string_buffer(n)
    ring._mapping._runtime.call("cudaMemcpy", host, ctypes.c_void_p(interface["data"][0]),
                                ctypes.c_size_t(n), 2)
    return host.raw


def check(batch, name, ring):
    try:
        got = to_host(batch, name, ring)
    except Exception as error:
        if name not in MAY_LACK:
            raise
        if name not in lacks and library != "numpy":
            print("%s does not take %s: %r" % (library, name, error), file=sys.stderr)
        lacks.add(name)
        return
    assert got == b"".join(map(WANTED[name], range(batch.first, batch.end))), "%s of batch %d has other bytes" % (
        name, batch.seq)


ring = shufflefs.Ring(sys.argv[1], timeout=60)
assert ring.memory.kind in ("cuda", "cuda-fd") and ring.memory.device.startswith("GPU-"), ring.memory
for batch in ring:
    for name in batch:
        check(batch, name, ring)
    print("batch", batch.seq, batch.n_samples, flush=True)
    if die:
        os.kill(os.getpid(), signal.SIGKILL)
print("end", flush=True)
ring.close()
