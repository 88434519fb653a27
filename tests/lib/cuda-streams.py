# SPDX-License-Identifier: MIT
"""A trainer whose GPU has yet to read a batch when Python is done with it.

  cuda-streams.py RING torch|cupy current|temporary|named|interface|hasty

The batches are those of tests/lib/ring-producer.  Each is copied on a stream of its own, behind a kernel
that takes long.  current: that stream is current when the tensor is made; temporary: so it is, and it is
gone when the batch is given back; named: release() names it; interface: the tensor came by __cuda_array_interface__; hasty: the batch is given back at once, so that
it must be overwritten.  Prints how many batches there were, and how many copies have other bytes.
"""
import contextlib
import sys

import shufflefs

CYCLES = 40_000_000  # 20 ms or more
SPIN = r"""extern "C" __global__ void spin(long long n)
{ long long begin = clock64(); while (clock64() - begin < n); }"""


class Torch:
    def __init__(self):
        import torch
        self.torch = torch
        self.stream = torch.cuda.Stream()
        torch.cuda._sleep(1000)
        torch.cuda.synchronize()

    def current(self):
        return self.torch.cuda.stream(self.stream)

    temporary = current  # (torch never destroys a stream)

    def take(self, batch, by_interface):
        return self.torch.as_tensor(batch["jpg"], device="cuda") if by_interface else batch.torch("jpg")

    def copy_late(self, tensor):
        self.torch.cuda._sleep(CYCLES)
        return tensor.clone()

    def synchronize(self):
        self.torch.cuda.synchronize()

    def to_host(self, tensor):
        return tensor.cpu().numpy().tobytes()


class Cupy:
    def __init__(self):
        import cupy
        self.cupy = cupy
        self.stream = cupy.cuda.Stream(non_blocking=True)
        self.spin = cupy.RawKernel(SPIN, "spin")
        self.spin((1,), (1,), (1000,))
        self.stream.synchronize()

    def current(self):
        return self.stream

    def temporary(self):
        return self.cupy.cuda.Stream(non_blocking=True)

    def take(self, batch, by_interface):
        return self.cupy.asarray(batch["jpg"]) if by_interface else batch.cupy("jpg")

    def copy_late(self, tensor):
        self.spin((1,), (1,), (CYCLES,))
        return tensor.copy()

    def synchronize(self):
        self.cupy.cuda.runtime.deviceSynchronize()

    def to_host(self, tensor):
        return tensor.get().tobytes()


library, mode = {"torch": Torch, "cupy": Cupy}[sys.argv[2]](), sys.argv[3]
copies = []
with shufflefs.Ring(sys.argv[1], timeout=60) as ring:
    for batch in ring:
        outer = {"current": library.current, "temporary": library.temporary}.get(mode, contextlib.nullcontext)
        with outer():
            tensor = library.take(batch, mode == "interface")
            with contextlib.nullcontext() if mode in ("current", "temporary") else library.current():
                copies.append((batch.first, batch.end, library.copy_late(tensor)))
        del tensor
        if mode == "named":
            batch.release(library.stream)
        elif mode == "hasty":
            batch._hold.lease.release()
    library.synchronize()
n_wrong = sum(library.to_host(copy) != b"".join(bytes((s + i) % 256 for i in range(192)) for s in range(first, end))
              for first, end, copy in copies)
print(len(copies), "batches,", n_wrong, "overwritten")
