# SPDX-License-Identifier: MIT
"""Tensors that lie in a GPU's memory.

How this works.  A Mapping is a ring's memory, opened in this process once.  A Hold is a batch of it:
all arrays of the batch keep the hold, the hold keeps the lease (_ring.c) and the mapping, and the
mapping keeps the handle.  So memory is closed before the ring is detached, and a batch is given back
when its last array is gone, if not before.

The GPU may still read a batch when Python is done with it.  So a hold notes the streams that its
arrays were given to, and waits for them before it gives the batch back.  A stream that may be destroyed
before that is not asked, for CUDA crashes then: the hold waits for the whole device.  Default streams
last, and so do those whose object the hold keeps, as it does of torch and cupy.
"""
import os
import sys
from typing import Any, Callable, Dict, NamedTuple, Optional, Protocol, Set, Tuple

from . import cuda
from ._ring import Lease, RingError, dlpack


class Memory(NamedTuple):
    """Where a ring's slots are: `kind` is "host", "cuda" or "cuda-fd", `device` the GPU's UUID.

    Of "cuda" the handle opens them, of "cuda-fd" the descriptor, which is the ring's.
    """
    kind: str
    device: str
    handle: bytes
    n_bytes: int
    fd: int  # -1: none


class Mapping(Protocol):
    """A ring's memory, opened in this process.  It closes itself when nobody has it any more."""
    address: int
    dlpack_device: Tuple[int, int]  # kind (2: CUDA) and number in this process

    def record(self, streams: Set[Optional[int]]) -> Any:
        """Note what these streams (None: all streams) have to do now."""

    def wait(self, record: Any) -> None:
        """Wait until they have done it."""


# The kinds of memory, each with what opens it: open(memory, owner) -> Mapping, which keeps `owner`.
OPENERS: Dict[str, Callable[[Memory, object], Mapping]] = {
    "cuda": cuda.IpcMapping,
    "cuda-fd": cuda.FdMapping,
}

# The ring's name of a type: code and bits of DLPack.
DLPACK_TYPES = {
    "u1": (1, 8), "u2": (1, 16), "u4": (1, 32), "u8": (1, 64),
    "i1": (0, 8), "i2": (0, 16), "i4": (0, 32), "i8": (0, 64),
    "f2": (2, 16), "f4": (2, 32), "f8": (2, 64), "b1": (6, 8), "bf2": (4, 16),
}


DEFAULT_STREAMS = (1, 2)  # of DLPack and CUDA: the legacy one, and one a thread


def open_memory(memory: Memory, owner: object) -> Mapping:
    if memory.kind not in OPENERS:
        raise RingError("the ring is in memory of kind %r, which this module does not know: install "
                        "shufflefs of the producer's version" % memory.kind)
    return OPENERS[memory.kind](memory, owner)


def stream_number(stream: Any) -> int:
    """A stream of torch or cupy, or a cudaStream_t."""
    for name in "cuda_stream", "ptr":
        if hasattr(stream, name):
            return int(getattr(stream, name))
    return int(stream)


class Hold:
    """A batch in a GPU's memory, until it is given back."""

    def __init__(self, lease: Lease, mapping: Mapping) -> None:
        self.lease = lease
        self.mapping = mapping
        self.streams: Dict[Optional[int], Any] = {}  # None: all; with the object that keeps it
        self._record: Any = None
        self._pid = os.getpid()

    def cuda_device(self) -> Optional[int]:
        """Its number; None: the memory is not CUDA's."""
        kind, number = self.mapping.dlpack_device
        return number if kind == cuda.DLPACK_KIND else None

    def record(self) -> None:
        """From here on the batch is not used in new work."""
        if self._record is None:
            self._record = self.mapping.record(set(self.streams))

    def release(self) -> None:
        if self.lease.is_released:
            return
        if os.getpid() == self._pid:  # (a child of fork() has no CUDA; the lease says why it is not its own)
            self.record()
            self.mapping.wait(self._record)
        self.lease.release()

    def __del__(self, is_finalizing: Callable[[], bool] = sys.is_finalizing) -> None:
        try:
            if os.getpid() == self._pid:
                self.release()
        except Exception:
            if not is_finalizing():  # modules that it needs may be gone; the lease needs none
                raise


class Array:
    """A tensor of a batch in a GPU's memory, as other libraries take it.

    It has `__cuda_array_interface__` (version 3) and `__dlpack__`.  Its bytes are there already: who
    takes it need not wait for a stream.
    """

    def __init__(self, hold: Hold, offset: int, shape: Tuple[int, ...], dtype: str,
                 user: Any = None) -> None:
        self._hold = hold
        self._user = user  # the stream object of who will call __dlpack__()
        self._address = hold.mapping.address + hold.lease.offset + offset
        self.shape = shape
        self.dtype = dtype  # the ring's name of it

    def __repr__(self) -> str:
        return "<shufflefs.Array %s %s>" % (self.dtype, self.shape)

    def _check(self) -> None:
        if self._hold.lease.is_released:
            raise RingError("batch %d was released" % self._hold.lease.seq)

    @property
    def __cuda_array_interface__(self) -> Dict[str, Any]:
        # (AttributeError: it has none, for hasattr().)
        if self._hold.mapping.dlpack_device[0] != cuda.DLPACK_KIND:
            raise AttributeError("this memory is not CUDA's")
        if self.dtype == "bf2":
            raise AttributeError("bfloat16 is only available through __dlpack__")
        self._check()
        self._hold.streams[None] = None
        kind = "|" + self.dtype if self.dtype[1:] == "1" else "<" + self.dtype
        return {"shape": self.shape, "typestr": kind, "data": (self._address, False),
                "strides": None, "stream": None, "version": 3}

    def __dlpack_device__(self) -> Tuple[int, int]:
        return self._hold.mapping.dlpack_device

    def __dlpack__(self, stream: Optional[int] = None, **more: Any) -> object:
        """A capsule.  The batch is given back after what `stream` does with it, if that is a default
        stream; else after all that the device has to do."""
        self._check()
        handle = 1 if stream is None else stream
        if handle in DEFAULT_STREAMS:
            self._hold.streams[handle] = None
        elif self._user is not None and stream_number(self._user) == handle:
            self._hold.streams[handle] = self._user
        else:
            self._hold.streams[None] = None
        code, bits = DLPACK_TYPES[self.dtype]
        return dlpack(self._address, *self.__dlpack_device__(), code, bits, self.shape, self._hold)
