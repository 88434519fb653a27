# SPDX-License-Identifier: MIT
"""A trainer of samples:PATH for tests.  A line for each sample: key, and a checksum of each field.

  samples-trainer.py --tar FILE              what FILE has, by Python's tarfile and WebDataset's rules
  samples-trainer.py PATH [hold=N] [ahead=N] all samples; keeps the Nth until a file `go` is there
  samples-trainer.py PATH stop=N             closes after the Nth
  samples-trainer.py PATH hostile            sends invalid messages of many kinds

Its last line is "end", or "error ERRNO: ...".
"""
import errno
import hashlib
import os
import random
import socket
import struct
import sys
import tarfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "python", "shufflefs"))
import samples  # alone: the package needs what is compiled


def line(key, fields):
    return " ".join([key] + ["%s=%s" % (name, hashlib.sha1(fields[name]).hexdigest()) for name in sorted(fields)])


def read_tar(path):
    key, fields = None, {}
    with tarfile.open(path, "r|") as tar:
        for member in tar:
            if not member.isfile():
                continue
            folder, _, base = member.name.rpartition("/")
            stem, _, extension = base.partition(".")
            new = (folder + "/" if folder else "") + stem
            if new != key:
                if fields:
                    print(line(key, fields))
                key, fields = new, {}
            fields[extension.lower()] = tar.extractfile(member).read()
    if fields:
        print(line(key, fields))


def train(path, hold=0, ahead=64, stop=0):
    held, end = None, "end"
    with samples.Samples(path, timeout=60, ahead=ahead) as given:
        try:
            for n, sample in enumerate(given, 1):
                text = line(sample.key, sample)
                print(text, flush=True)
                if n == stop:
                    break
                if n == hold:
                    held, said = sample.keep(), text
                    in_mount = any(memory == 1 for _, _, memory in sample._fields.values())
                    print("holds", "the mount's" if in_mount else "a copy", flush=True)
                    while not os.path.exists("go"):
                        time.sleep(0.01)
        except samples.SamplesError as error:
            end = "error %s: %s" % (errno.errorcode[error.errno], error)
        if held:
            assert line(held.key, held) == said, "what was kept has changed"
            held.release()
    print(end)


def hostile(path):
    """Each of these is cut off, and keeps nobody from his samples."""
    rng = random.Random(5)
    want = samples.WANT.pack
    said = [b"x", b"", bytes(40), want(1, 1, 8, 8, 0, 0), want(1, 513, 8, 8, 0, 0) + bytes(8 * 513), want(1, 0, 8, 8, 1 << 60, 0),
            want(1, 1, 8, 8, 0, 0) + struct.pack("=Q", 1 << 40), want(1, 0, 8, 8, 0, 7), samples.LEAVE.pack(2, 0, 9),
            samples.LEAVE.pack(2, 1, 0), want(3, 0, 8, 8, 0, 0), bytes(5000)]
    said += [rng.randbytes(rng.randrange(1, 200)) for _ in range(100)]
    for first in (None, want(1, 0, 4, 1 << 20, 0, 0)):  # without samples, and with some
        for message in said:
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
                s.settimeout(60)
                s.connect(path)
                _, fds, _, _ = socket.recv_fds(s, 4096, 2)
                for fd in fds:
                    os.close(fd)
                try:
                    if first:
                        s.send(first)
                    s.send(message)
                    while s.recv(1 << 17):
                        pass
                except ConnectionError:
                    pass  # it was cut off already
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)  # asks for all, and reads nothing
    s.connect(path)
    s.send(want(1, 0, (1 << 64) - 1, (1 << 64) - 1, 0, 0))
    s.close()
    print("end")


if sys.argv[1] == "--tar":
    read_tar(sys.argv[2])
elif sys.argv[2:] == ["hostile"]:
    hostile(sys.argv[1])
else:
    train(sys.argv[1], **{name: int(n) for name, n in (word.split("=") for word in sys.argv[2:])})
