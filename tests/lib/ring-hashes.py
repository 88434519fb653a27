# SPDX-License-Identifier: MIT
"""What a ring gives, in the host's memory or in CUDA's.

  ring-hashes.py RING [--again] [--hold FILE]

Prints a line for each batch, with its samples and a hash of each tensor, and "end".  With --again it
attaches again after an error, which it prints to standard error; with --hold it keeps the first batch
until there is that file, and reads it again then.
"""
import argparse
import ctypes
import hashlib
import math
import os
import sys
import time

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


def describe(ring, batch):
    hashes = (hashlib.sha1(read(ring, batch, name)).hexdigest() for name in batch)
    return " ".join(map(str, (batch.first, batch.end, *hashes)))


def drain(path, hold):
    with shufflefs.Ring(path, timeout=60) as ring:
        for batch in ring:
            line = describe(ring, batch)
            print(line, flush=True)
            if hold and not os.path.exists(hold):
                while not os.path.exists(hold):
                    time.sleep(0.01)
                assert describe(ring, batch) == line, "batch %d has changed" % batch.seq
    print("end", flush=True)


parser = argparse.ArgumentParser()
parser.add_argument("ring")
parser.add_argument("--again", action="store_true")
parser.add_argument("--hold")
args = parser.parse_args()
while True:
    try:
        drain(args.ring, args.hold)
        break
    except shufflefs.RingError as error:
        if not args.again:
            raise
        print(error, file=sys.stderr, flush=True)
