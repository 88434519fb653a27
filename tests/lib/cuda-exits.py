# SPDX-License-Identifier: MIT
"""A trainer that ends, forks, or destroys a stream, while something still has a batch in a GPU's memory.

  cuda-exits.py RING kept|static|fork|gone

kept: an array lives longer than Python's modules; static: a library lets go of a tensor when the
interpreter has ended; fork: a child lets go of all that it has of its parent, and attaches to the ring;
gone: a tensor was given to a stream that is not there any more.
The batches are those of tests/lib/ring-producer.  Nothing may be said on standard error.
"""
import ctypes
import gc
import os
import sys
import warnings

import shufflefs

ring = shufflefs.Ring(sys.argv[1], timeout=60)
batch = ring.next(60)
array = batch["jpg"]


def keep_until_exit():
    """What a C++ library with a static variable does."""
    api = ctypes.pythonapi
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    api.PyCapsule_GetPointer.argtypes = ctypes.py_object, ctypes.c_char_p
    api.PyCapsule_SetName.argtypes = ctypes.py_object, ctypes.c_char_p
    capsule = array.__dlpack__(stream=1)
    tensor = api.PyCapsule_GetPointer(capsule, b"dltensor")
    global name
    name = ctypes.c_char_p(b"used_dltensor")
    api.PyCapsule_SetName(capsule, name)
    deleter = ctypes.c_void_p.from_address(tensor + 56)  # behind a DLTensor and a pointer
    atexit = ctypes.CDLL(None).__cxa_atexit
    atexit.argtypes = (ctypes.c_void_p,) * 3
    assert atexit(deleter, tensor, None) == 0


def fork():
    warnings.simplefilter("ignore", DeprecationWarning)  # (CUDA has threads)
    child = os.fork()
    if child != 0:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    global ring, batch, array
    path = sys.argv[1]
    del ring, batch, array
    gc.collect()
    try:
        shufflefs.Ring(path, timeout=60)
    except shufflefs.RingError as error:
        print(error)
        os._exit(0)
    os._exit(1)


if sys.argv[2] == "kept":
    os.kept = [array, batch]
    del ring, batch, array
elif sys.argv[2] == "static":
    keep_until_exit()
elif sys.argv[2] == "gone":
    array.__dlpack__(stream=0x7f00dead0000)
    batch.release()
    assert sum(1 for _ in ring) == 4
    ring.close()
elif sys.argv[2] == "fork":
    assert fork() == 0, "it attaches to the ring in a child of fork()"
    with batch:
        assert batch.seq == 0
    n = sum(1 for _ in ring)
    print(n, "batches more", flush=True)
    ring.close()
