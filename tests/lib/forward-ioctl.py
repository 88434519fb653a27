#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The ioctls of shufflefs/ioctl.h, for tests: what they must do with one open file.

  forward-ioctl.py CASE FILE [ARG...]

A child is what $SHUFFLEFS_SIDECAR of the mount says; see fuse-a-stream-is-forwarded-by-ioctl.sh.
"""
import errno
import fcntl
import os
import signal
import struct
import sys
import time

VERSION, FORWARD, STATUS, WAIT, SEEK, STOP, RING = range(7)
SIZES = {VERSION: 64, FORWARD: 3584, STATUS: 512, WAIT: 16, SEEK: 16, STOP: 8, RING: 128}
NONE, CONNECTING, STREAMING, DRAINING, DONE, FAILED, STOPPED = range(7)


def number(nr, size=None):
    return 3 << 30 | (size or SIZES[nr]) << 16 | 0xEF << 8 | nr


def call(fd, nr, rest=b"", flags=0, size=None):
    """Returns the bytes; an OSError has those that came with it in .data."""
    data = bytearray(struct.pack("=II", size or SIZES[nr], flags) + rest)
    data.extend(bytes(SIZES[nr] - len(data)))
    try:
        fcntl.ioctl(fd, number(nr), data, True)
    except OSError as error:
        error.data = bytes(data)
        raise
    return bytes(data)


def forward(fd, target="local:/nowhere", fields="jpg", batch=4, first=0, flags=0, secret_file="", max_skip=0, unused=0):
    return call(fd, FORWARD, struct.pack(
        "=QQIIIIII1024s1792s256s456sII", first, 0, batch, 0, 0, 0, 0, 0, target.encode(), fields.encode(),
        secret_file.encode(), b"", max_skip, unused), flags)


def status(fd):
    s = struct.unpack("=IIIIQQQQQiiQQQQQ24s384s", call(fd, STATUS))
    names = ("size", "flags", "session", "state", "batches", "samples", "skipped", "bytes", "next",
             "pid", "exit", "ns", "rate", "reader_ns", "decoder_ns", "target_ns")
    result = dict(zip(names, s))
    result["placement"] = s[-2].split(b"\0")[0].decode()
    result["error"] = s[-1].split(b"\0")[0].decode()
    return result


def wait(fd, timeout_ms=30000):
    return struct.unpack("=IIiI", call(fd, WAIT, struct.pack("=i", timeout_ms)))[3]


def fails(code, function, *args, **more):
    try:
        function(*args, **more)
    except OSError as error:
        assert error.errno == code, "%s, not %s" % (error, errno.errorcode[code])
        return getattr(error, "data", b"")
    raise AssertionError("no %s" % errno.errorcode[code])


def until(condition):
    for _ in range(600):
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError("waited in vain")


def is_alive(pid):
    try:
        with open("/proc/%d/stat" % pid) as f:
            return f.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


# ---- the cases ----

def refused(path, readme):
    """What is wrong is refused, and starts nothing."""
    fd = os.open(path, os.O_RDONLY)
    data = call(fd, VERSION)
    assert struct.unpack("=II", data[8:16]) == (1, 0x7F) and data[16:17] != b"\0", data
    fails(errno.ENODATA, wait, fd)
    fails(errno.ENODATA, call, fd, RING)
    assert status(fd)["state"] == NONE
    call(fd, STOP)
    for nr in SIZES:
        fails(errno.EINVAL, call, fd, nr, flags=0x80000000)
        fails(errno.EINVAL, call, fd, nr, size=SIZES[nr] + 8)
        fails(errno.EINVAL, fcntl.ioctl, fd, number(nr, SIZES[nr] + 8), bytearray(SIZES[nr] + 8), True)
    fails(errno.ENOTTY, fcntl.ioctl, fd, number(99, 16), bytes(16))
    fails(errno.ENOTTY, fcntl.ioctl, fd, 0x5401, bytes(64))  # TCGETS
    assert b"target" in fails(errno.EINVAL, forward, fd, target="")
    assert b"batch" in fails(errno.EINVAL, forward, fd, batch=0)
    fails(errno.EINVAL, forward, fd, target="x" * 1024)  # without a NUL
    fails(errno.EINVAL, forward, fd, fields="x" * 1792)
    for secret_file in "secret", "/" * 256:
        assert b"is not an absolute path" in fails(errno.EINVAL, forward, fd, secret_file=secret_file)
    assert b"max_skip is 1000001; it must be at most" in fails(errno.EINVAL, forward, fd, max_skip=1000001)
    assert b"unused is 7; it must be 0" in fails(errno.EINVAL, forward, fd, unused=7)
    for target, why in ((("nowhere"), "has an unknown scheme"), ("ftp://a:1", "has an unknown scheme"), ("local:", "has no path"),
                        ("local:ring", "must be absolute"), ("samples:a/b?memory=20", "must be absolute"),
                        ("local:/" + "x" * 96, "at most 96 bytes"), ("zpush+ipc://a", "must be absolute"),
                        ("zpull://a:1", "has an unknown scheme"), ("tcp://", "is not tcp://HOST:PORT"), ("tcp://a", "is not tcp"),
                        ("tcp://:1", "is not tcp"), ("rdma://a:0", "is not rdma"), ("zpush://a:x", "is not zpush"),
                        ("tcp://a:65536", "is not tcp")):
        data = fails(errno.EINVAL, forward, fd, target=target)
        assert why.encode() in data, (target, data[3120:])
    assert status(fd)["session"] == 0
    for other in (readme, os.path.dirname(path)):
        fd = os.open(other, os.O_RDONLY)
        fails(errno.ENOTTY, call, fd, VERSION)


def forbidden(path):
    """Another user may look, and start nothing."""
    fd = os.open(path, os.O_RDONLY)
    call(fd, VERSION)
    assert b"only root and the user" in fails(errno.EPERM, forward, fd)
    assert status(fd)["session"] == 0


def ends(path, state, words):
    """A session that ends by itself ends so."""
    fd = os.open(path, os.O_RDONLY)
    forward(fd)
    got = wait(fd)
    s = status(fd)
    print(s)
    assert got == s["state"] == int(state), s
    assert words in s["error"], s
    assert s["pid"] == 0


def arrives(path):
    """A whole epoch, twice on one file, and then from a sample on."""
    fd = os.open(path, os.O_RDONLY)
    for first in (0, 0, 7):
        call(fd, SEEK, struct.pack("=Q", first))
        forward(fd, fields="jpg;cls:i4", target="local:/somewhere", batch=256)
        fails(errno.EBUSY, forward, fd)
        fails(errno.EBUSY, call, fd, SEEK)
        assert call(fd, RING)[8:].split(b"\0")[0] == b"/somewhere"
        os.mkdir("go")  # the child waits for it
        assert wait(fd) == DONE, status(fd)
        os.rmdir("go")
        s = status(fd)
        assert (s["batches"], s["samples"], s["skipped"], s["bytes"], s["next"], s["error"]) == (
            3, 12, 1, 2 ** 40, 13, ""), s
        assert (s["ns"], s["rate"], s["reader_ns"], s["decoder_ns"], s["target_ns"],
                s["placement"]) == (3 * 10 ** 9, 2 ** 38, 500000000, 250000000, 125000000, "dma-buf"), s
        os.rename("got.tar", "got-%d.tar" % first)


def ended(path):
    """Whatever ends a session ends its child; WAIT returns then, and not before."""
    fd = os.open(path, os.O_RDONLY)

    def start():
        forward(fd)
        until(lambda: status(fd)["state"] == STREAMING)
        assert wait(fd, 0) == STREAMING
        assert wait(fd, 50) == STREAMING
        return status(fd)["pid"]

    # The child is killed.
    pid = start()
    os.kill(pid, signal.SIGKILL)
    assert wait(fd, 10000) == FAILED
    s = status(fd)
    assert s["exit"] == -9 and "killed by signal 9" in s["error"] and s["pid"] == 0, s

    # STOP: it may end as it likes; and must, with the flag.
    for flags in 0, 1:
        pid = start()
        call(fd, STOP, flags=flags)
        assert wait(fd, 10000) == STOPPED
        assert not is_alive(pid) and status(fd)["error"] == "", status(fd)

    # Who waits can be interrupted, and killed.
    pid = start()
    for sent, code in (signal.SIGUSR1, 0), (signal.SIGKILL, -9):
        waiter = os.fork()
        if waiter == 0:
            signal.signal(signal.SIGUSR1, lambda *_: (_ for _ in ()).throw(InterruptedError()))
            try:
                wait(fd, -1)
            except InterruptedError:
                os._exit(0)
            os._exit(1)
        until(lambda: "ioctl" in open("/proc/%d/syscall" % waiter).read()
              or open("/proc/%d/wchan" % waiter).read() not in ("", "0"))
        time.sleep(0.2)
        os.kill(waiter, sent)
        result = os.waitstatus_to_exitcode(os.waitpid(waiter, 0)[1])
        assert result == code, result
    assert is_alive(pid) and wait(fd, 0) == STREAMING

    # The file is closed.
    os.close(fd)
    until(lambda: not is_alive(pid))

    # An open file that nobody closes: for the unmount, see the shell.
    fd = os.open(path, os.O_RDONLY)
    pid = start()
    print(pid, flush=True)
    print(pid, file=open("started.tmp", "w"), flush=True)
    os.rename("started.tmp", "started")
    fails(errno.ECONNABORTED, wait, fd, -1)


globals()[sys.argv[1]](*sys.argv[2:])
