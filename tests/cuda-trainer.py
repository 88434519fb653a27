# SPDX-License-Identifier: MIT
"""A trainer on a ring in CUDA memory, which looks at the bytes with nothing but libcudart.

  cuda-trainer.py RING [numpy|torch|cupy|jax] [die]

The batches are those of tests/ring-producer: each "jpg" is compared.  Prints a line for each batch,
and "end".  With die, it kills itself while it holds the first batch.
"""
import ctypes
import os
import signal
import sys

import shufflefs

library, die = (sys.argv + ["numpy"])[2], sys.argv[3:] == ["die"]


def to_host(batch, ring):
    """The bytes of "jpg", as the library sees them."""
    if library == "torch":
        return batch.torch("jpg").cpu().numpy().tobytes()
    if library == "cupy":
        return batch.cupy("jpg").get().tobytes()
    if library == "jax":
        import jax.dlpack
        import numpy
        return numpy.asarray(jax.dlpack.from_dlpack(batch["jpg"])).tobytes()
    interface = batch["jpg"].__cuda_array_interface__
    n = 192 * interface["shape"][0]
    host = ctypes.create_string_buffer(n)
    ring._mapping._runtime.call("cudaMemcpy", host, ctypes.c_void_p(interface["data"][0]),
                                ctypes.c_size_t(n), 2)
    return host.raw


ring = shufflefs.Ring(sys.argv[1], timeout=60)
assert ring.memory.kind in ("cuda", "cuda-fd") and ring.memory.device.startswith("GPU-"), ring.memory
for batch in ring:
    wanted = b"".join(bytes((s + i) % 256 for i in range(192)) for s in range(batch.first, batch.end))
    assert to_host(batch, ring) == wanted, "batch %d has other bytes" % batch.seq
    print("batch", batch.seq, batch.n_samples, flush=True)
    if die:
        os.kill(os.getpid(), signal.SIGKILL)
print("end", flush=True)
ring.close()
