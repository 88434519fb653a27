# SPDX-License-Identifier: MIT
"""Programs of shufflefs as children of a trainer.

How this works.  A child has a session of its own: Ctrl-C in a terminal is the trainer's, who ends
its children.  If the trainer is killed, nobody ends them; so the sidecar writes reports into a pipe
whose only reader the trainer is, and stops when that is gone.  The pipe is never read: it holds two
minutes of reports, and the rest is dropped, for the writing end never blocks.  fork() would make a
second reader, so children of fork() close theirs.

What a child says goes to a file.  Its last line is the reason if it fails; what it says while it
runs is logged.
"""
import logging
import os
import re
import shutil
import signal
import subprocess
import sysconfig
import tempfile
import weakref
from typing import IO, Any, List, Optional

log = logging.getLogger("shufflefs")

PREFIX = re.compile(r"^shufflefs(-sidecar)?: ")
PATIENCE = 5  # seconds, for a child to stop

# Where programs are looked for before PATH is: what a user says, and what pip has installed.
VARIABLES = {"shufflefs-sidecar": "SHUFFLEFS_SIDECAR", "shufflefs": "SHUFFLEFS"}
BUNDLED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin")


def find_program(name: str) -> str:
    """The path of a program; FileNotFoundError says how to get it."""
    given = os.environ.get(VARIABLES[name])
    if given:
        found = shutil.which(given)
        if not found:
            raise FileNotFoundError("%s=%s: there is no such program" % (VARIABLES[name], given))
        return found
    for folder in BUNDLED, None, sysconfig.get_path("scripts"):
        found = shutil.which(name, path=folder)
        if found:
            return found
    raise FileNotFoundError(
        "%s is not installed%s: build it in the source tree of shufflefs (./autogen.sh && ./configure "
        "&& make), then run %s; or set %s to its path" % (
            (name, ", and pip could not bring it", "'pip install ./python' again or 'make install'",
             VARIABLES[name]) if name == "shufflefs-sidecar" else
            (name, "", "'make install'", VARIABLES[name])))


class Child:
    """A program that runs until it ends, is stopped, or this process ends."""

    def __init__(self, program: str, args: List[str], reports: bool = False, stdin: Any = None,
                 stdout: Any = None) -> None:
        command, writes = [find_program(program)] + args, -1
        self.program = program
        self._said = tempfile.TemporaryFile()
        self._n_logged = 0
        self._reads = -1
        if reports:
            self._reads, writes = os.pipe()
            os.set_blocking(writes, False)
            command.insert(2, "--report-fd=%d" % writes)
        try:
            self._process = subprocess.Popen(
                command, stdin=stdin or subprocess.DEVNULL, stdout=stdout or subprocess.DEVNULL,
                stderr=self._said, pass_fds=(writes,) if reports else (), start_new_session=True)
        except BaseException:
            self._said.close()
            raise
        finally:
            if reports:
                os.close(writes)
        self._end = weakref.finalize(self, _end, self._process, self._reads, self._said, os.getpid())
        _children.add(self)

    @property
    def stdout(self) -> Optional[IO[bytes]]:
        return self._process.stdout

    def has_ended(self) -> bool:
        return self._process.poll() is not None

    def wait(self, timeout: Optional[float] = None) -> int:
        """Its exit status, or -N: signal N has killed it; subprocess.TimeoutExpired."""
        return self._process.wait(timeout)

    def stop(self) -> None:
        """End it, and wait until it has ended.  A second time is fine."""
        self._end()

    def _lines(self) -> List[str]:
        if self._said.closed:
            return []
        size = os.fstat(self._said.fileno()).st_size
        return os.pread(self._said.fileno(), size, 0).decode(errors="replace").splitlines()

    def log(self) -> None:
        """Log the lines that it has said since the last time."""
        lines = self._lines()
        for line in lines[self._n_logged:]:
            log.warning("%s: %s", self.program, PREFIX.sub("", line))
        self._n_logged = len(lines)

    def reason(self) -> str:
        """Why it has ended: its last sentence, else how."""
        status = self._process.poll()
        lines = [PREFIX.sub("", line) for line in self._lines() if PREFIX.match(line)]
        if status is not None and status < 0:
            return "%s was killed by signal %d (%s)" % (self.program, -status, _signal_name(-status))
        if lines:
            return lines[-1]
        return "%s ended with exit status %s, and did not say why" % (self.program, status)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return "?"


def _end(process: "subprocess.Popen[bytes]", reads: int, said: IO[bytes], pid: int) -> None:
    """By whatever ends first: stop(), the last reference, or the interpreter."""
    said.close()
    if os.getpid() != pid:  # (a child of fork() has no children)
        return
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    if reads >= 0:
        os.close(reads)


_children: "weakref.WeakSet[Child]" = weakref.WeakSet()


def _forget() -> None:
    for child in list(_children):
        if child._reads >= 0 and child._end.alive:
            os.close(child._reads)
        child._reads = -1
        child._process.returncode = 0  # (it is not ours to wait for)


os.register_at_fork(after_in_child=_forget)
