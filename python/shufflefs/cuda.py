# SPDX-License-Identifier: MIT
"""A ring's memory on a GPU, opened by the CUDA runtime.

How this works.  libcudart is called by ctypes: the one that is loaded already (torch, cupy and JAX
bring it), else the one that the system has, else that of PyPI's nvidia-cuda-runtime.  The GPU is
found by its UUID, for its number may differ between processes.  Whoever calls may have another
device current: it is so again afterwards.

Memory that comes as a descriptor is opened by functions of the driver, which the runtime hands out.
"""
import ctypes
import glob
import importlib.util
import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Callable, Iterator, List, Optional, Set

from ._ring import RingError

if TYPE_CHECKING:
    from .device import Memory

DLPACK_KIND = 2  # kDLCUDA
NAMES = ["libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0", "libcudart.so"]
LAZY_PEER_ACCESS = 1
BLOCKING_SYNC_DISABLE_TIMING = 3
INITIALIZATION_ERROR = 3
UUID = slice(256, 272)  # of cudaDeviceProp, in all versions: it begins with char name[256]


VMM_VERSION = 10020  # of CUDA: it has the functions of virtual memory
POSIX_FD = 1  # CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
ON_DEVICE = 1  # CU_MEM_LOCATION_TYPE_DEVICE
READ_WRITE = 3  # CU_MEM_ACCESS_FLAGS_PROT_READWRITE


class IpcHandle(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_ubyte * 64)]


class AccessDesc(ctypes.Structure):
    """CUmemAccessDesc"""
    _fields_ = [("location_type", ctypes.c_int), ("location_id", ctypes.c_int),
                ("flags", ctypes.c_int)]


def _loaded() -> List[str]:
    with open("/proc/self/maps") as maps:
        paths = {line.split(maxsplit=5)[5].strip() for line in maps if "/libcudart" in line}
    return sorted(path for path in paths if os.path.exists(path))


def _packaged() -> List[str]:
    spec = importlib.util.find_spec("nvidia")
    folders = list(spec.submodule_search_locations or []) if spec else []
    return [path for folder in folders
            for path in sorted(glob.glob(os.path.join(folder, "*/lib/libcudart.so.*")))]


class Runtime:
    """libcudart."""

    def __init__(self) -> None:
        self._library = self._load()

    @staticmethod
    def _load() -> ctypes.CDLL:
        for path in _loaded() + NAMES + _packaged():
            try:
                return ctypes.CDLL(path)
            except OSError:
                pass
        raise RingError("the ring is in a GPU's memory, and there is no CUDA runtime (%s): install it, "
                        "or pip install nvidia-cuda-runtime" % ", ".join(NAMES))

    def call(self, name: str, *args: Any) -> None:
        """Call a function; RingError if it fails."""
        error = getattr(self._library, name)(*args)
        if error != 0:
            text = self._library.cudaGetErrorString
            text.restype = ctypes.c_char_p
            self._library.cudaGetLastError()
            hint = " (a child of fork()? CUDA needs one that is started with spawn)"
            raise RingError("CUDA: %s: %s%s" % (
                name, text(error).decode(), hint if error == INITIALIZATION_ERROR else ""))

    def call_driver(self, name: str, *args: Any) -> None:
        """Call a function of the driver; RingError if it fails, or is not there."""
        function, result = ctypes.c_void_p(), ctypes.c_int(0)
        if hasattr(self._library, "cudaGetDriverEntryPointByVersion"):  # CUDA 12.5
            self.call("cudaGetDriverEntryPointByVersion", name.encode(), ctypes.byref(function),
                      ctypes.c_uint(VMM_VERSION), ctypes.c_ulonglong(0), ctypes.byref(result))
        else:  # (CUDA 11 leaves the result alone)
            self.call("cudaGetDriverEntryPoint", name.encode(), ctypes.byref(function),
                      ctypes.c_ulonglong(0), ctypes.byref(result))
        if result.value != 0 or not function.value:
            raise RingError("CUDA: the driver has no %s()" % name)
        error = ctypes.CFUNCTYPE(ctypes.c_int)(function.value)(*args)
        if error != 0:
            raise RingError("CUDA: %s: error %d" % (name, error))

    def n_devices(self) -> int:
        driver, n = ctypes.c_int(0), ctypes.c_int(0)
        self.call("cudaDriverGetVersion", ctypes.byref(driver))
        if driver.value == 0:
            raise RingError("the ring is in a GPU's memory, and this host or container has no CUDA "
                            "driver (libcuda.so.1)")
        self.call("cudaGetDeviceCount", ctypes.byref(n))
        return n.value

    def uuid(self, number: int) -> str:
        properties = ctypes.create_string_buffer(16384)
        name = "cudaGetDeviceProperties"
        if hasattr(self._library, name + "_v2"):  # CUDA 12
            name += "_v2"
        self.call(name, properties, number)
        digits = properties.raw[UUID].hex()
        return "GPU-" + "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))

    def find(self, uuid: str) -> int:
        """The number of this GPU here."""
        there = [self.uuid(number) for number in range(self.n_devices())]
        if uuid not in there:
            raise RingError("the ring is in the memory of %s, which this process does not see; it sees %s "
                            "(CUDA_VISIBLE_DEVICES=%s)" % (
                                uuid, " ".join(there) or "none",
                                os.environ.get("CUDA_VISIBLE_DEVICES", "")))
        return there.index(uuid)

    @contextmanager
    def device(self, number: int) -> Iterator[None]:
        """With this device current."""
        before = ctypes.c_int(0)
        self.call("cudaGetDevice", ctypes.byref(before))
        if before.value != number:
            self.call("cudaSetDevice", number)
        try:
            yield
        finally:
            if before.value != number:
                self.call("cudaSetDevice", before)


class Mapping:
    """A ring's memory on a GPU (see device.Mapping)."""

    def __init__(self, memory: "Memory", owner: object) -> None:
        self.address = 0
        self._runtime = Runtime()
        self._number = self._runtime.find(memory.device)
        self._n_bytes = memory.n_bytes
        self.dlpack_device = (DLPACK_KIND, self._number)
        self._owner = owner
        self._pid = os.getpid()
        with self._runtime.device(self._number):
            self.address = self._open(memory)

    def _open(self, memory: "Memory") -> int:
        """Its address here."""
        raise NotImplementedError

    def _close(self) -> None:
        raise NotImplementedError

    def record(self, streams: Set[Optional[int]]) -> Optional[List[ctypes.c_void_p]]:
        """An event for each stream; None: all streams are to be waited for."""
        if None in streams:
            return None
        events: List[ctypes.c_void_p] = []
        with self._runtime.device(self._number):
            for stream in streams:
                event = ctypes.c_void_p()
                self._runtime.call("cudaEventCreateWithFlags", ctypes.byref(event),
                                   ctypes.c_uint(BLOCKING_SYNC_DISABLE_TIMING))
                events.append(event)
                self._runtime.call("cudaEventRecord", event, ctypes.c_void_p(stream))
        return events

    def wait(self, record: Optional[List[ctypes.c_void_p]]) -> None:
        with self._runtime.device(self._number):
            if record is None:
                self._runtime.call("cudaDeviceSynchronize")
            for event in record or []:
                self._runtime.call("cudaEventSynchronize", event)
                self._runtime.call("cudaEventDestroy", event)

    def __del__(self, is_finalizing: Callable[[], bool] = sys.is_finalizing) -> None:
        try:
            if self.address and os.getpid() == self._pid:  # (what a child of fork() has is not its own)
                with self._runtime.device(self._number):
                    self._close()
        except RingError:
            pass  # the process ends, and its CUDA has ended before
        except Exception:
            if not is_finalizing():  # or the modules that this needs
                raise


class IpcMapping(Mapping):
    """Opened by its handle, in the producer's PID namespace."""

    def _open(self, memory: "Memory") -> int:
        base = ctypes.c_void_p()
        self._runtime.call("cudaIpcOpenMemHandle", ctypes.byref(base),
                           IpcHandle.from_buffer_copy(memory.handle), ctypes.c_uint(LAZY_PEER_ACCESS))
        return base.value or 0

    def _close(self) -> None:
        self._runtime.call("cudaIpcCloseMemHandle", ctypes.c_void_p(self.address))


class FdMapping(Mapping):
    """Opened by its descriptor."""

    def _open(self, memory: "Memory") -> int:
        handle, base = ctypes.c_uint64(), ctypes.c_uint64()
        n_bytes, zero = ctypes.c_size_t(memory.n_bytes), ctypes.c_uint64(0)
        driver = self._runtime.call_driver
        self._runtime.call("cudaFree", ctypes.c_void_p(0))  # the driver needs a context
        driver("cuMemImportFromShareableHandle", ctypes.byref(handle), ctypes.c_void_p(memory.fd),
               ctypes.c_int(POSIX_FD))
        try:
            driver("cuMemAddressReserve", ctypes.byref(base), n_bytes, ctypes.c_size_t(0), zero, zero)
            try:
                driver("cuMemMap", base, n_bytes, ctypes.c_size_t(0), handle, zero)
            except RingError:
                driver("cuMemAddressFree", base, n_bytes)
                raise
        finally:
            driver("cuMemRelease", handle)  # (what is mapped stays)
        self.address = base.value  # it is to be closed from here on
        access = AccessDesc(ON_DEVICE, self._number, READ_WRITE)
        driver("cuMemSetAccess", base, n_bytes, ctypes.byref(access), ctypes.c_size_t(1))
        return base.value

    def _close(self) -> None:
        base, n_bytes = ctypes.c_uint64(self.address), ctypes.c_size_t(self._n_bytes)
        self._runtime.call_driver("cuMemUnmap", base, n_bytes)
        self._runtime.call_driver("cuMemAddressFree", base, n_bytes)
