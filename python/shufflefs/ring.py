# SPDX-License-Identifier: MIT
"""Batches of tensors from a ring in shared memory, or in a GPU's.

How this works.  A tensor is a view of the slot that its batch lies in: a ctypes array at the
slot's address, which holds the batch's lease (_ring.c).  So the ring stays mapped as long as any
view lives, and a batch whose object and views are all gone is given back.  release() gives it back
at once: who then still looks at a view sees the batches that come after it.

Of a ring in a GPU's memory the same holds of arrays on the device (device.py).
"""
import ctypes
import os
import sys
from types import TracebackType
from typing import TYPE_CHECKING, Any, Dict, Iterator, NamedTuple, Optional, Tuple, Type, Union

from . import device
from ._ring import Handle, Lease, RingError

try:
    import numpy
except ImportError:
    numpy = None  # type: ignore[assignment]

if TYPE_CHECKING:
    import numpy.typing
    import torch

# The ring's name of a type: memoryview's letter, torch's name.  numpy knows the ring's names.
TYPES = {
    "u1": ("B", "uint8"), "u2": ("H", "uint16"), "u4": ("I", "uint32"), "u8": ("Q", "uint64"),
    "i1": ("b", "int8"), "i2": ("h", "int16"), "i4": ("i", "int32"), "i8": ("q", "int64"),
    "f2": ("e", "float16"), "f4": ("f", "float32"), "f8": ("d", "float64"),
    "b1": ("?", "bool"), "bf2": ("H", "bfloat16"),
}


class Tensor(NamedTuple):
    """What the ring says of a tensor: `shape` is that of a whole batch."""
    name: str
    dtype: str
    shape: Tuple[int, ...]
    offset: int
    row_bytes: int


def as_array(memory: Any, tensor: Tensor, shape: Tuple[int, ...]) -> Any:
    """Memory of a tensor as a numpy array; without numpy, as a memoryview."""
    if numpy is None:
        return memoryview(memory).cast("B").cast(TYPES[tensor.dtype][0], shape)  # type: ignore
    dtype = "<u2" if tensor.dtype == "bf2" else "<" + tensor.dtype
    return numpy.frombuffer(memory, dtype).reshape(shape)


def _torch_dtype(tensor: Tensor) -> Any:
    import torch

    dtype = getattr(torch, TYPES[tensor.dtype][1], None)
    if dtype is None:
        raise TypeError("tensor %r: this torch, %s, has no %s" % (
            tensor.name, torch.__version__, TYPES[tensor.dtype][1]))
    return dtype


def as_torch(memory: Any, tensor: Tensor, shape: Tuple[int, ...]) -> "torch.Tensor":
    """Memory of a tensor as torch's."""
    import torch

    return torch.frombuffer(memory, dtype=_torch_dtype(tensor)).reshape(shape)


def is_in_worker() -> bool:
    """A worker of a torch DataLoader sends arrays on after the loop has gone on to the next batch."""
    utils = sys.modules.get("torch.utils.data")
    return bool(utils) and utils.get_worker_info() is not None  # type: ignore[union-attr]


class Batch:
    """A batch of the ring, this process's until it is released.

    `seq` is its number in the ring, `epoch` that of its samples, which are `first` to `end` - 1
    of the stream of sender `sender`.  A short last batch has fewer `n_samples`, and its tensors have
    as many rows.
    """

    def __init__(self, lease: Lease, tensors: Dict[str, Tensor],
                 hold: Optional[device.Hold] = None) -> None:
        self._lease = lease
        self._tensors = tensors
        self._hold = hold  # None: it lies in the host's memory
        self.seq = lease.seq
        self.epoch = lease.epoch
        self.first = lease.first
        self.end = lease.end
        self.n_samples = lease.n_samples
        self.sender = lease.sender

    def keys(self) -> Tuple[str, ...]:
        """The names of the tensors."""
        return tuple(self._tensors)

    def __iter__(self) -> Iterator[str]:
        return iter(self._tensors)

    def __contains__(self, name: object) -> bool:
        return name in self._tensors

    def __repr__(self) -> str:
        return "<shufflefs.Batch %d of epoch %d: samples %d to %d%s>" % (
            self.seq, self.epoch, self.first, self.end - 1,
            ", released" if self._lease.is_released else "")

    def _tensor(self, name: str) -> Tuple[Tensor, Tuple[int, ...]]:
        """A tensor, and its shape in this batch."""
        if self._lease.is_released:
            raise RingError("batch %d was released" % self.seq)
        tensor = self._tensors[name]
        return tensor, (self.n_samples, *tensor.shape[1:])

    def _memory(self, tensor: Tensor) -> Any:
        """Its bytes, on the host; in a DataLoader's worker, a copy."""
        n_bytes = self.n_samples * tensor.row_bytes
        memory = (ctypes.c_ubyte * n_bytes).from_address(self._lease.address + tensor.offset)
        if is_in_worker():
            return type(memory).from_buffer_copy(memory)
        memory.lease = self._lease  # type: ignore[attr-defined]
        return memory

    def memories(self) -> Dict[str, Tuple[Any, Tensor, Tuple[int, ...]]]:
        """What as_array() and as_torch() take, of each tensor on the host: the batch is given back
        when all these memories are gone, and the batch itself."""
        parts = {name: self._tensor(name) for name in self._tensors}
        return {name: (self._memory(tensor), tensor, shape) for name, (tensor, shape) in parts.items()}

    def _array(self, name: str, user: Any = None) -> device.Array:
        """A tensor on the GPU, for the user of a stream (an object of torch or cupy)."""
        assert self._hold
        tensor, shape = self._tensor(name)
        return device.Array(self._hold, tensor.offset, shape, tensor.dtype, user)

    def __getitem__(self, name: str) -> Any:
        """A tensor, as a numpy array; without numpy, as a memoryview; on a GPU, as an Array.

        It may be written to: nobody else looks at the batch.  bfloat16, which numpy lacks, comes
        as uint16.
        """
        if self._hold:
            return self._array(name)
        tensor, shape = self._tensor(name)
        return as_array(self._memory(tensor), tensor, shape)

    def torch(self, name: str) -> "torch.Tensor":
        """A tensor, as torch's, where it lies.

        On a GPU the batch is given back after what torch's current stream does with it; if you use
        it on another stream, name that one to release().
        """
        import torch

        tensor, shape = self._tensor(name)
        if self._hold:
            _torch_dtype(tensor)
            number = self._hold.cuda_device()
            user = None if number is None else torch.cuda.current_stream(number)
            return torch.from_dlpack(self._array(name, user))
        return as_torch(self._memory(tensor), tensor, shape)

    def cupy(self, name: str) -> Any:
        """A tensor in a GPU's memory, as cupy's.  Streams: as with torch()."""
        if not self._hold:
            raise TypeError("the ring is in the host's memory: use cupy.asarray(batch[%r])" % name)
        import cupy

        number = self._hold.cuda_device()
        user = None if number is None else cupy.cuda.get_current_stream(number)
        return cupy.from_dlpack(self._array(name, user))

    def record(self) -> None:
        """Say that no more work on the GPU is begun with this batch; release() waits only for what
        was begun before.  A batch on the host needs it not."""
        if self._hold:
            self._hold.record()

    def release(self, stream: Any = None) -> None:
        """Give the batch back; a second time is fine.  Its views are not to be used any more.

        On a GPU, waits first until the streams have done what they have with it: `stream` (torch's,
        cupy's, or a number), or those that torch() and cupy() found current; the whole device, if others
        took the tensors, as by `__cuda_array_interface__` or from_dlpack().
        """
        if not self._hold:
            self._lease.release()
            return
        if stream is not None:
            self._hold.streams = {device.stream_number(stream): stream}
        self._hold.release()

    def __enter__(self) -> "Batch":
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.release()


class Ring:
    """The ring at `path`, a socket of shufflefs-sidecar.

    Waits at most `timeout` seconds (None: for ever) until it is there; TimeoutError after that.
    Any thread may call its methods; a child of fork() attaches anew.
    """

    def __init__(self, path: Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"],
                 timeout: Optional[float] = None) -> None:
        self._handle = Handle(path, timeout)
        self.memory = device.Memory(*self._handle.memory())
        self._mapping: Optional[device.Mapping] = None
        if self.memory.kind != "host":
            self._mapping = device.open_memory(self.memory, self._handle)
        self.tensors = {row[0]: Tensor(*row) for row in self._handle.layout()}
        self._positions: Dict[int, Dict[str, int]] = {}

    def next(self, timeout: Optional[float] = None) -> Optional[Batch]:
        """The next batch; None: the producer has ended, and all batches were taken.

        Waits at most `timeout` seconds (None: for ever), then raises TimeoutError.  RingError: the
        producer died or failed.  Signals are handled while it waits.
        """
        lease = self._handle.next(timeout)
        if lease is None:
            return None
        self._positions[lease.sender] = {"epoch": lease.epoch, "next": lease.end}
        hold = device.Hold(lease, self._mapping) if self._mapping else None
        return Batch(lease, self.tensors, hold)

    def release(self, batch: Batch) -> None:
        """Give a batch back, in any order."""
        batch.release()

    def __iter__(self) -> Iterator[Batch]:
        """All batches until the end; each is released when the next one is asked for.

        On a GPU it is released one batch later, if that is there already: so Python can begin the
        work of a batch while the GPU has that of the batch before it.
        """
        if self._mapping:
            yield from self._batches_behind()
            return
        while True:
            batch = self.next()
            if batch is None:
                return
            with batch:
                yield batch

    def _batches_behind(self) -> Iterator[Batch]:
        before: Optional[Batch] = None
        try:
            while True:
                try:
                    batch = self.next(0)
                except TimeoutError:  # a batch that is kept may be the slot that the producer needs
                    if before:
                        before.release()
                        before = None
                    batch = self.next()
                if batch is None:
                    return
                try:
                    yield batch
                finally:
                    batch.record()
                    if before:
                        before.release()
                    before = batch
        finally:
            if before:
                before.release()

    def state_dict(self, sender: int = 0) -> Dict[str, int]:
        """Where to go on: {"epoch": E, "next": K} after the last batch that next() returned.

        A stream of the same name, opened as epochs/E/NAME@K.tar, goes on there.  Who takes batches
        ahead saves a batch's `epoch` and `end` instead.  Before the first batch it is empty.
        """
        return dict(self._positions.get(sender, {}))

    def close(self) -> None:
        """Give all batches back, and take no more.  A wait in another thread ends with RingError.

        The memory is freed with the last view of it.  On a GPU, waits for the device first.
        """
        if self._mapping:
            self._mapping.wait(self._mapping.record({None}))
        self._mapping = None
        self._handle.close()

    def __enter__(self) -> "Ring":
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.close()
