# SPDX-License-Identifier: MIT
"""Samples as they lie in the memory of a mount, or of shufflefs-sidecar.

How this works.  The sidecar gives the descriptors of its memory, which is mapped for reading, and
says in messages where fields lie (sidecar/samples/samples-wire.h has both ends' words).  Samples are asked for
ahead: so many, or so many bytes.  What was released is told with the next question, at the latest
before a wait.
"""
import errno
import mmap
import os
import socket
import struct
import threading
import time
from types import TracebackType
from typing import Dict, Iterator, List, Optional, Tuple, Type, Union

MAGIC, VERSION = 0x31306c706d615373, 1
HELLO = struct.Struct("=QII2Q224s")  # magic, version, memories, their bytes, refusal
MESSAGE = struct.Struct("=II")  # kind, n
HEAD = struct.Struct("=QQQII")  # number, epoch, ordinal, bytes of the key, fields
FIELD = struct.Struct("=QQII")  # offset, bytes, memory, bytes of the name
WANT = struct.Struct("=IIQQQQ")  # 1, numbers that follow, samples, bytes, released below, waits
LEAVE = struct.Struct("=IIQ")  # 2, 0, samples that were looked at
SOME, END, FAILED = 1, 2, 3

MESSAGE_MAX = 128 << 10
AHEAD_BYTES = 1 << 20
RELEASES = 32  # are told together
TRY_SECONDS = 0.02  # between looks for a socket


class SamplesError(RuntimeError):
    """`errno` is EPIPE: the sidecar died; EIO: the stream, or the sidecar, has failed, and the text
    says why; EPROTO: it has another version; EINVAL: the sample was released, or this is closed."""

    def __init__(self, number: int, text: str) -> None:
        super().__init__(text)
        self.errno = number


class Sample:
    """A sample: `sample["jpg"]` is a read-only memoryview of it where it lies.

    `key` is WebDataset's, `ordinal` its number in the stream `epoch`, and `n_bytes` all its fields'.
    Until it is released its bytes stay as they are.
    """
    __slots__ = ("key", "epoch", "ordinal", "n_bytes", "is_kept", "is_released", "_owner", "_number",
                 "_fields")

    def __init__(self, owner: "Samples", number: int, epoch: int, ordinal: int, key: str,
                 fields: Dict[str, Tuple[int, int, int]]) -> None:
        self.key = key
        self.epoch = epoch
        self.ordinal = ordinal
        self.n_bytes = sum(field[1] for field in fields.values())
        self.is_kept = self.is_released = False
        self._owner = owner
        self._number = number
        self._fields = fields

    def keys(self) -> Tuple[str, ...]:
        """The names of the fields."""
        return tuple(self._fields)

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def __contains__(self, name: object) -> bool:
        return name in self._fields

    def __repr__(self) -> str:
        return "<shufflefs.Sample %r: sample %d of epoch %d%s>" % (
            self.key, self.ordinal, self.epoch, ", released" if self.is_released else "")

    def __getitem__(self, name: str) -> memoryview:
        """A field, without a copy."""
        if self.is_released:
            raise SamplesError(errno.EINVAL, "sample %r was released" % self.key)
        offset, n_bytes, memory = self._fields[name]
        return self._owner._view(memory, offset, n_bytes)

    def keep(self) -> "Sample":
        """The iterator does not release it when it goes on: you do, by release()."""
        self.is_kept = True
        return self

    def release(self) -> None:
        """Give the sample back; a second time is fine.  Any thread.  Its views are not to be used
        any more: they show what comes there next."""
        self._owner._release(self, at_once=True)

    def __enter__(self) -> "Sample":
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.release()


class Samples:
    """The samples of the sidecar that listens at `path` (`samples:PATH`).

    Waits at most `timeout` seconds (None: for ever) until it is there and has begun; TimeoutError
    after that.  Each sample goes to one of those that are attached.  `ahead` samples at most, and
    about 1 MiB, are asked for ahead of the one that is looked at.  A child of fork() attaches anew.
    """

    def __init__(self, path: Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"],
                 timeout: Optional[float] = None, ahead: int = 64) -> None:
        self._socket: Optional[socket.socket] = None
        self._path = os.fsdecode(path)
        self._pid = os.getpid()
        self._ahead = max(1, ahead)
        self._reading = threading.Lock()  # next()
        self._saying = threading.Lock()  # guards what was said and is to be said
        self._memories: List[memoryview] = []
        self._message = b""  # what has come, from _at on
        self._at = self._n_left = 0
        self._has_ended = False
        self._error: Optional[SamplesError] = None
        self._n_taken = self._n_bytes_taken = 0
        self._asked = (0, 0)
        self._below = 0  # all below were released
        self._releases: List[int] = []
        self._says_waiting = False
        self._attach(None if timeout is None else time.monotonic() + timeout)

    # Attaching.

    def _attach(self, deadline: Optional[float]) -> None:
        while True:
            s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            try:
                if self._try(s, deadline):
                    self._socket = s
                    return
            finally:
                if self._socket is not s:
                    s.close()
            if deadline is not None and time.monotonic() >= deadline:
                raise TimeoutError("%s: no sidecar gives samples there" % self._path)
            time.sleep(TRY_SECONDS)

    def _try(self, s: socket.socket, deadline: Optional[float]) -> bool:
        """False: there is nobody yet."""
        try:
            s.settimeout(None if deadline is None else max(0.001, deadline - time.monotonic()))
            s.connect(self._path)
            self._check_producer(s)
            hello, fds, _, _ = socket.recv_fds(s, HELLO.size + 1, 2)
        except (FileNotFoundError, ConnectionError, BlockingIOError):
            return False
        except socket.timeout:
            raise TimeoutError("%s: the stream has not begun" % self._path) from None
        try:
            if hello:
                self._take_hello(hello, fds)
        finally:
            for fd in fds:
                os.close(fd)
        return bool(hello)

    def _check_producer(self, s: socket.socket) -> None:
        """Whoever may write to the folder can listen there, and would say what is trained on."""
        uid = struct.unpack("=iII", s.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[1]
        if uid not in (0, os.geteuid()):
            raise SamplesError(errno.EPERM, "%s: the samples belong to user %d, who is neither root nor this "
                               "process's user, %d" % (self._path, uid, os.geteuid()))

    def _take_hello(self, hello: bytes, fds: List[int]) -> None:
        magic, version = struct.unpack_from("=QI", hello.ljust(12))
        if magic != MAGIC:
            raise SamplesError(errno.EPROTO, "%s: there are no samples there; is it a ring?" % self._path)
        if version != VERSION or len(hello) != HELLO.size:
            raise SamplesError(errno.EPROTO, "%s: the sidecar speaks version %d, and this module version %d: "
                               "install both from one release" % (self._path, version, VERSION))
        _, _, n_memories, *sizes, refusal = HELLO.unpack(hello)
        if n_memories == 0:
            raise SamplesError(errno.EIO, refusal.split(b"\0")[0].decode(errors="replace"))
        if n_memories != len(fds):
            raise SamplesError(errno.EPROTO, "%s: received %d descriptors instead of %d (too many are open?)" %
                               (self._path, len(fds), n_memories))
        self._memories = [memoryview(mmap.mmap(fd, size, mmap.MAP_SHARED, mmap.PROT_READ))
                          for fd, size in zip(fds, sizes)]

    # Saying.

    def _say(self, is_waiting: bool) -> None:
        """With _saying."""
        if not self._socket or self._pid != os.getpid():
            return
        self._releases.sort()
        numbers = self._releases
        if numbers and numbers[0] == self._below and numbers[-1] - numbers[0] == len(numbers) - 1:
            self._below, numbers = numbers[-1] + 1, []
        self._asked = (self._n_taken + self._ahead, self._n_bytes_taken + AHEAD_BYTES)
        self._releases = []
        self._says_waiting = is_waiting
        try:
            self._socket.send(WANT.pack(1, len(numbers), *self._asked, self._below, is_waiting) +
                              struct.pack("=%dQ" % len(numbers), *numbers))
        except (ConnectionError, BrokenPipeError):
            pass  # what it said last can still be read

    def _release(self, sample: Sample, at_once: bool) -> None:
        with self._saying:
            if sample.is_released:
                return
            sample.is_released = True
            self._releases.append(sample._number)
            if at_once or len(self._releases) >= RELEASES:
                self._say(self._says_waiting)

    # Hearing.

    def _view(self, memory: int, offset: int, n_bytes: int) -> memoryview:
        if not self._memories:
            raise SamplesError(errno.EINVAL, "%s is closed" % self._path)
        return self._memories[memory][offset:offset + n_bytes]

    def _check(self) -> socket.socket:
        if self._pid != os.getpid():
            raise SamplesError(errno.EINVAL, "after fork(), attach to %s anew" % self._path)
        if not self._socket:
            raise SamplesError(errno.EINVAL, "%s is closed" % self._path)
        return self._socket

    def _receive(self, deadline: Optional[float]) -> None:
        s = self._check()
        s.settimeout(None if deadline is None else max(0.0, deadline - time.monotonic()))
        try:
            message = s.recv(MESSAGE_MAX)
        except ConnectionResetError:
            return  # it has not read all that we said; what it said itself comes now
        except (socket.timeout, BlockingIOError):
            raise TimeoutError("%s: no sample has come" % self._path) from None
        if not message:
            self._error = SamplesError(errno.EPIPE, "%s: the sidecar died" % self._path)
            return
        kind, n = MESSAGE.unpack_from(message)
        if kind == SOME:
            self._message, self._at, self._n_left = message, MESSAGE.size, n
        elif kind == END:
            self._has_ended = True
        else:
            text = message[MESSAGE.size:MESSAGE.size + n].decode(errors="replace")
            self._error = SamplesError(errno.EIO, text)

    def _parse(self) -> Sample:
        """The next sample of the message."""
        message, at = self._message, self._at
        number, epoch, ordinal, n_key, n_fields = HEAD.unpack_from(message, at)
        rows = [FIELD.unpack_from(message, at + HEAD.size + i * FIELD.size) for i in range(n_fields)]
        at += HEAD.size + n_fields * FIELD.size
        key = message[at:at + n_key].decode(errors="surrogateescape")
        at += n_key
        fields = {}
        for offset, n_bytes, memory, n_name in rows:
            fields[message[at:at + n_name].decode(errors="surrogateescape")] = (offset, n_bytes, memory)
            at += n_name
        self._at = (at - MESSAGE.size + 7) // 8 * 8 + MESSAGE.size
        self._n_left -= 1
        return Sample(self, number, epoch, ordinal, key, fields)

    def next(self, timeout: Optional[float] = None) -> Optional[Sample]:
        """The next sample, yours until you release it; None: the stream has ended, and all samples
        were given.

        Waits at most `timeout` seconds (None: for ever), then raises TimeoutError.  SamplesError: the
        sidecar died, or the stream has failed.  Signals are handled while it waits.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        with self._reading:
            while self._n_left == 0:
                self._check()
                if self._error:
                    raise self._error
                if self._has_ended:
                    with self._saying:
                        if self._releases:
                            self._say(True)
                    return None
                with self._saying:
                    if self._releases or not self._says_waiting:
                        self._say(True)
                self._receive(deadline)
            self._check()
            sample = self._parse()
            with self._saying:
                self._says_waiting = False
                self._n_taken += 1
                self._n_bytes_taken += sample.n_bytes
                if (self._asked[0] - self._n_taken <= self._ahead // 2 or
                        self._asked[1] - self._n_bytes_taken <= AHEAD_BYTES // 2):
                    self._say(False)
            return sample

    def __iter__(self) -> Iterator[Sample]:
        """All samples until the end; each is released when the next one is asked for, unless it was
        kept (keep())."""
        while True:
            sample = self.next()
            if sample is None:
                return
            try:
                yield sample
            finally:
                if not sample.is_kept:
                    self._release(sample, at_once=False)

    def close(self) -> None:
        """Give all samples back.  Those that were asked for ahead go to others.

        The memory stays mapped as long as a view lives, but its bytes may change.
        """
        with self._saying:
            s, self._socket = self._socket, None
            self._memories = []
            if not s:
                return
            try:
                if self._pid == os.getpid():
                    s.settimeout(1)
                    s.send(LEAVE.pack(2, 0, self._n_taken))
            except OSError:
                pass  # it has gone
            s.close()

    def __del__(self) -> None:
        if getattr(self, "_socket", None):
            self.close()

    def __enter__(self) -> "Samples":
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.close()
