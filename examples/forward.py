#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Forward a stream of a mount, and wait until it has arrived: shufflefs-ioctl(4).

  forward.py /mnt/ds/epochs/0.tar tcp://gpu1:18515 'jpg:rgb,224;cls:i4' /etc/shufflefs/secret
"""
import fcntl
import os
import struct
import sys

DONE = 4


def command(number, size):
    return 3 << 30 | size << 16 | 0xEF << 8 | number


def main(path, target, fields, secret_file="", batch=256):
    fd = os.open(path, os.O_RDONLY)
    wanted = bytearray(struct.pack("=IIQQIIIIII1024s1792s256s464x", 3584, 0, 0, 0, batch, 0, 0, 0, 0, 0,
                                   target.encode(), fields.encode(), secret_file.encode()))
    try:
        fcntl.ioctl(fd, command(1, 3584), wanted, True)
    except OSError as error:
        sys.exit(wanted[3120:].split(b"\0")[0].decode() or str(error))
    state = 0
    while state < DONE:
        wait = bytearray(struct.pack("=IIiI", 16, 0, 1000, 0))
        fcntl.ioctl(fd, command(3, 16), wait, True)
        state = struct.unpack("=IIiI", wait)[3]
        status = bytearray(struct.pack("=II504x", 512, 0))
        fcntl.ioctl(fd, command(2, 512), status, True)
        print("%d batches, %d samples" % struct.unpack("=QQ", status[16:32]))
    sys.exit(status[128:].split(b"\0")[0].decode() or state != DONE)


main(*sys.argv[1:])
