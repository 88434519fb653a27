# SPDX-License-Identifier: MIT
"""A mount forwards one of its streams: the ioctls of shufflefs/ioctl.h, see shufflefs-ioctl(4)."""
import errno
import fcntl
import os
import re
import struct
import time
from types import TracebackType
from typing import Any, NamedTuple, Optional, Tuple, Type, Union

FORWARD, STATUS, WAIT, SEEK, STOP, RING = range(1, 7)
FORWARD_ARGS = struct.Struct("=IIQQIIIIII1024s1792s256s456sII")
FORWARD_ERROR = -3
STATUS_ARGS = struct.Struct("=IIIIQQQQQiiQQQQQ24s384s")
WAIT_ARGS = struct.Struct("=IIiI")
STOP_ARGS = struct.Struct("=II")
RING_ARGS = struct.Struct("=II120s")

DROP_LAST, CRC = 1, 2
STOP_KILL = 1
ON_ERROR = ("fail", "skip")
ON_CONSUMER_DEATH = ("fail", "redeliver", "drop")
STATES = ("none", "connecting", "streaming", "draining", "done", "failed", "stopped")
ENDED = STATES[4:]

# Targets whose path is relative: the mount has another current folder.
RELATIVE = re.compile(r"(local:|samples:|z[a-z]+[+]ipc://)(?=[^/@?#])")

SLICE_MS = 200  # of a wait: between two, handlers of signals run


class ForwardError(RuntimeError):
    """The mount cannot forward the stream, or the session failed: the text says why.  `errno` is a
    number of the module errno."""

    def __init__(self, number: int, text: str) -> None:
        super().__init__(text)
        self.errno = number


class Status(NamedTuple):
    """What a session has done so far.  `state` is one of connecting, streaming, draining, done,
    failed and stopped; the last three are final."""
    state: str
    batches: int
    samples: int
    skipped: int
    bytes: int
    next: int  # the sample of the stream after the last batch
    seconds: float
    bytes_per_second: int
    waited_for_stream: float  # seconds
    waited_for_decoders: float
    waited_for_target: float
    placement: str  # see shufflefs-ioctl(4)
    pid: int  # of the sidecar; 0: it has ended
    exit_status: int  # -N: signal N has killed it
    error: str


def _text(raw: bytes) -> str:
    return raw.split(b"\0")[0].decode(errors="replace")


def _bytes(what: str, text: str, size: int) -> bytes:
    raw = os.fsencode(text)
    if len(raw) >= size or b"\0" in raw:
        raise ValueError("%s must have at most %d bytes and no zeros: %r" % (what, size - 1, text))
    return raw


def _millionths(percent: Optional[float]) -> int:
    if percent is None:
        return 0
    if not 0 < percent <= 100:
        raise ValueError("max_skip must be a percentage above 0 and at most 100, not %r" % (percent,))
    return max(1, round(percent * 10000))


def _choice(what: str, word: str, words: Tuple[str, ...]) -> int:
    if word not in words:
        raise ValueError("%s is %s, not %r" % (what, " or ".join(words), word))
    return words.index(word)


class Forward:
    """A session, started by forward().  Closing it ends it."""

    def __init__(self, path: str, fd: int) -> None:
        self.path = path
        self._fd = fd

    def _call(self, number: int, args: struct.Struct, *values: Any) -> Tuple[Any, ...]:
        data = bytearray(args.pack(args.size, *values))
        if self._fd < 0:
            raise ForwardError(errno.EBADF, "%s: the session was closed" % self.path)
        try:
            fcntl.ioctl(self._fd, 3 << 30 | args.size << 16 | 0xEF << 8 | number, data, True)
        except OSError as error:
            raise self._error(error, number, args.unpack(data)) from None
        return args.unpack(data)

    def _error(self, error: OSError, number: int, values: Tuple[Any, ...]) -> Exception:
        if error.errno == errno.ENOTTY:
            text = "not a stream of a shufflefs mount"
        elif error.errno in (errno.ECONNABORTED, errno.ENOTCONN):
            text = "the mount is gone"
        elif error.errno == errno.ENODATA:
            text = "trainers do not attach here: the target is on another host"
        elif error.errno == errno.EINTR:
            return InterruptedError(errno.EINTR, os.strerror(errno.EINTR))
        else:
            text = _text(values[FORWARD_ERROR]) if number == FORWARD else ""
            text = text or os.strerror(error.errno or 0)
        return ForwardError(error.errno or 0, "%s: %s" % (self.path, text))

    def _start(self, *values: Any) -> None:
        self._call(FORWARD, FORWARD_ARGS, *values)

    def status(self) -> Status:
        """What it has done so far."""
        (_, _, _, state, batches, samples, skipped, n_bytes, next_, pid, exit_status, ns, rate, reader,
         decoder, target, placement, error) = self._call(STATUS, STATUS_ARGS, *[0] * 15, b"", b"")
        return Status(STATES[state], batches, samples, skipped, n_bytes, next_, ns / 1e9, rate,
                      reader / 1e9, decoder / 1e9, target / 1e9, _text(placement), pid, exit_status,
                      _text(error))

    def wait(self, timeout: Optional[float] = None) -> Status:
        """Wait until all has arrived, or stop() has ended it.

        TimeoutError: it has not ended within `timeout` seconds (None: wait for ever).  ForwardError:
        it failed.  Signals are handled while it waits.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            left = SLICE_MS
            if deadline is not None:
                left = min(left, max(0, int((deadline - time.monotonic()) * 1000)))
            try:
                self._call(WAIT, WAIT_ARGS, 0, left, 0)
            except InterruptedError:
                continue  # (if the handler raised, that has come instead)
            status = self.status()
            if status.state == "failed":
                raise ForwardError(errno.EIO, "%s: %s" % (self.path, status.error))
            if status.state in ENDED:
                return status
            if deadline is not None and time.monotonic() >= deadline:
                raise TimeoutError("%s: the session has not ended within %s seconds" % (
                    self.path, timeout))

    def stop(self, kill: bool = False) -> None:
        """End it within 5 seconds, or at once.  Does not wait: see wait()."""
        self._call(STOP, STOP_ARGS, STOP_KILL if kill else 0)

    @property
    def ring(self) -> str:
        """Where trainers attach, if the target is local: or samples:."""
        return os.fsdecode(self._call(RING, RING_ARGS, 0, b"")[-1].split(b"\0")[0])

    def close(self) -> None:
        """End it, if it has not ended."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def __del__(self) -> None:
        if getattr(self, "_fd", -1) >= 0:
            self.close()

    def __enter__(self) -> "Forward":
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.close()


def forward(path: Union[str, "os.PathLike[str]"], target: str, fields: str = "", batch: int = 0, *,
            first: int = 0, seed: int = 0, workers: int = 0, slots: int = 0, on_error: str = "fail",
            on_consumer_death: str = "fail", drop_last: bool = False, crc: bool = False,
            secret_file: Union[str, "os.PathLike[str]"] = "", max_skip: Optional[float] = None) -> Forward:
    """Let a mount forward its stream `path` to `target` as batches of tensors.

        with shufflefs.forward("/mnt/ds/epochs/0.tar", "tcp://gpu1:18515", "jpg:rgb,224;cls") as f:
            print(f.wait())

    The mount starts the sidecar and feeds it; this returns at once.  `batch` is 256 if it is not
    given.  With "samples:PATH" there are no fields and no batches.  The other arguments are the
    options of `shufflefs forward`.  ForwardError says why the mount refuses.
    """
    path = os.fspath(path)
    relative = RELATIVE.match(target)
    if relative:
        target = relative[0] + os.path.join(os.getcwd(), target[relative.end():])
    if not target.startswith("samples:"):
        batch = batch or 256
        if not fields:
            raise ValueError("fields is missing: which fields become tensors, as 'jpg:rgb,224;cls'")
    values = ((DROP_LAST if drop_last else 0) | (CRC if crc else 0), first, seed, batch, workers, slots,
              _choice("on_error", on_error, ON_ERROR),
              _choice("on_consumer_death", on_consumer_death, ON_CONSUMER_DEATH), 0,
              _bytes("target", target, 1024), _bytes("fields", fields, 1792),
              _bytes("secret_file", os.path.abspath(secret_file) if secret_file else "", 256), b"",
              _millionths(max_skip), 0)
    session = Forward(path, os.open(path, os.O_RDONLY | os.O_CLOEXEC))
    try:
        session._start(*values)
    except BaseException:
        session.close()
        raise
    return session
