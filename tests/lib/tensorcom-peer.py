# SPDX-License-Identifier: MIT
"""An unmodified Tensorcom at one end.

  tensorcom-peer.py recv URL N [single]     N batches; checks them, and prints their labels
  tensorcom-peer.py send URL N FIRST [single|garbage]

The batches are those of zmq-peer.c.
"""
import sys

import numpy as np
import tensorcom
import zmq

what, url, n = sys.argv[1], sys.argv[2], int(sys.argv[3])
rest = sys.argv[4:]
infos = None if "unnamed" in rest else ["img", "cls"]
connection = tensorcom.Connection(url, infos=infos, multipart="single" not in rest)


def images(labels):
    return ((7 * labels[:, None] + np.arange(15)) % 256).astype("uint8").reshape(-1, 5, 3)


def receive():
    connection.socket.setsockopt(zmq.RCVTIMEO, 20000)
    for _ in range(n):
        img, cls = connection.recv()
        assert (img.dtype, cls.dtype) == (np.uint8, np.int32), (img.dtype, cls.dtype)
        assert (img == images(cls)).all() and img.shape == (len(cls), 5, 3)
        print(*cls, sep="\n")


def send():
    first = int(rest[0])
    if "garbage" in rest:
        for parts in ([b"x"], [b"~TenBin~" + b"\xff" * 8], [b"u1", b""], [b""] * 40,
                      [b"u1".ljust(16, b"\0") + b"\1" + b"\0" * 7 + b"\xff" * 8, b"abc"]):
            connection.socket.send_multipart(parts)
    for batch in range(n):
        labels = np.arange(4 if batch + 1 < n else 3, dtype="int32") + first + 4 * batch
        connection.send([images(labels), labels])
    connection.socket.setsockopt(zmq.LINGER, 20000)
    connection.socket.close()
    connection.context.term()


{"recv": receive, "send": send}[what]()
