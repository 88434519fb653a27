#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Many processes do anything that can be done with a mount, all at once.

  op-storm.py SHUFFLEFS SHARDS [--seconds N] [--seed N] [--origin URL] [--only ROUND]

SHARDS is a folder; an origin (origin.py) serves it, if there is one, and falls silent for
shards while there is a file SHARDS/stalled.  Round after round something is mounted with
options by chance, and a dozen processes list, stat, open, read, map and ask for attributes
of files that are there and of names that make no sense.  Some are killed meanwhile, and
while the others are at it the mount is taken away.

Judged: bytes that were read are those of `shufflefs cat`; errors are those that may be; no
call takes longer than its deadline; the daemon ends in time, with status 0.  Sanitizers'
reports are run-test's business.  Prints its seed; --seed repeats the same choices (not the
same timing).
"""
import argparse
import ctypes
import errno
import json
import mmap
import os
import random
import shutil
import signal
import subprocess
import sys
import tarfile
import time

READ_TIMEOUT_S = 20
CALL_LIMIT_S = 90  # of one call: the deadline, the kernel's repetitions, a slow machine
STOP_LIMIT_S = 60
N_WORKERS = 12
BLOCK = 4096
SLOT = 256  # bytes of shared memory for each worker: what it does now

# What is mounted.  Those of one `order` show the same streams.
ORDERS = {
    "plain": "lanes=4,buffer=64K,seed=3",
    "keys": "lanes=2,buffer=16K,seed=4,keys=unique",
    "samples": "lanes=4,buffer=64K,seed=5,segment=sample",
    "slices": "lanes=6,buffer=1M,seed=6,segment=100K,equal=drop",
    "cuts": "lanes=6,buffer=1M,seed=7,segment=random",
}
EXTRAS = ["budget=16M", "budget=24M,next-epoch=yes", "budget=200M", "direct_io",
          "readahead=128K", "readahead=4M,budget=20M", "connections=2", "epochs=3"]
FAULTS = ["", "", "stall,over=600,while=stalled", "late,ms=150", "503,over=600,times=4",
          "cut,over=600,bytes=3000,times=6", "rst,over=600,bytes=70000,times=3",
          "less,over=600,bytes=5000", "404,over=600,times=1"]

STREAMS = ["epochs/0.tar", "epochs/1.tar", "epochs/7.tar", "epochs/0/rank-0-of-2.tar",
           "epochs/0/rank-1-of-2.tar", "epochs/1@9.tar",
           "epochs/1/rank-0-of-2/worker-0-of-1.tar"]
SNAPSHOTS = [".shufflefs/stats.json", ".shufflefs/errors", ".shufflefs/config",
             ".shufflefs/metrics.prom", "README"]
FOLDERS = ["", "epochs", "epochs/0", "epochs/1/rank-0-of-2", "shards", "samples", ".shufflefs"]
NONSENSE = ["epochs/007.tar", "epochs/99999999999999999999.tar", "epochs/-1.tar", "epochs/0",
            "epochs/18446744073709551615.tar", "epochs/0.tar/x", "epochs/0/rank-9-of-2.tar",
            "epochs/0/rank-0-of-7.tar", "epochs/3@999999.tar", "epochs/1@18446744073709551616.tar",
            "epochs/0/rank-0-of-2/worker-5-of-3.tar", "shards/none.tar", "samples/none.tar",
            "shards/../shards", "samples/train-000000.tar/none", "shards/train-000000.tar.idx",
            ".shufflefs/none", "x" * 255, "x" * 256, "epochs/" + "9" * 250, "a\nb", "\u00fc\u0301",
            "epochs/0.order", "epochs/0/rank-0-of-2.order", "epochs/1@3.order",
            "shards/train-000000.idx", "epochs/0.tar@1", "-", "epochs/.tar", "shards/*.tar"]
XATTRS = ["user.shufflefs.order", "user.shufflefs.samples", "user.shufflefs.repeated",
          "user.shufflefs.dropped", "user.shufflefs.sample-at.0", "user.shufflefs.sample-at.70000",
          "user.shufflefs.sample-at.99999999999999", "user.shufflefs.sample-at.x",
          "user.shufflefs.", "user." + "y" * 240, "security.capability", "system.posix_acl_access",
          "trusted.x"]

# What an operation on something senseless may be answered with, at any time.
SENSELESS = {errno.ENOENT, errno.EINVAL, errno.EROFS, errno.EISDIR, errno.ENOTDIR, errno.ENODATA,
             errno.EACCES, errno.EPERM, errno.ENAMETOOLONG, errno.EOPNOTSUPP, errno.ENODEV,
             errno.ELOOP, errno.ENXIO, errno.ERANGE, errno.ENOTTY, errno.ESPIPE, errno.EBADF,
             errno.EXDEV, errno.ENOSYS, errno.EINTR, errno.EFBIG, errno.EOVERFLOW}
PASSING = {errno.EINTR}
FAULTY = {errno.EIO, errno.ENODATA, errno.ENOENT, errno.ESTALE}
ENDING = {errno.ENOTCONN, errno.ECONNABORTED, errno.ECANCELED, errno.EIO, errno.ENOENT}

libc = ctypes.CDLL(None, use_errno=True)


class Wrong(Exception):
    pass


class Round:
    """What all workers of a round share."""

    def __init__(self, folder, wanted, members, is_faulty, shared):
        self.folder = folder
        self.wanted = wanted    # path -> bytes
        self.members = members  # of samples/
        self.is_faulty = is_faulty
        self.shared = shared    # byte 0: the mount is being taken away

    def is_ending(self):
        return self.shared[0] != 0


class Worker:
    def __init__(self, round_, number, rng):
        self.round = round_
        self.at = SLOT * (1 + number)
        self.rng = rng
        self.fds = []
        self.is_interrupted = rng.random() < 0.3  # by signals, again and again
        self.buf = mmap.mmap(-1, 4 << 20)

    def path(self, name):
        return os.path.join(self.round.folder, name)

    def say(self, what):
        """For the parent: what this call is, and since when."""
        text = json.dumps([time.monotonic(), what])[:SLOT - 1].encode()
        self.round.shared[self.at:self.at + SLOT] = text.ljust(SLOT, b"\0")

    def may(self, error, allowed):
        if error.errno in allowed or (self.round.is_faulty and error.errno in FAULTY):
            return
        if self.round.is_ending() and error.errno in ENDING:
            return
        raise error

    def any_name(self):
        r = self.rng.random()
        if r < 0.35:
            return self.rng.choice(list(self.round.wanted))
        if r < 0.5:
            return self.rng.choice(SNAPSHOTS + FOLDERS)
        if r < 0.6:
            return "samples/" + self.rng.choice(self.round.members)
        return self.rng.choice(NONSENSE)

    # ---- operations ----

    def list_folder(self):
        name = self.rng.choice(FOLDERS + ["samples/train-%06d.tar" % self.rng.randrange(5)] +
                               [self.any_name()])
        self.say("list " + name)
        try:
            names = os.listdir(self.path(name))
        except OSError as error:
            return self.may(error, SENSELESS)
        if name == "shards" and sum(n.endswith(".tar") for n in names) != 4:
            raise Wrong("shards/ has %s" % names)

    def look(self):
        name = self.any_name()
        call = self.rng.choice([os.stat, os.lstat, os.statvfs, os.readlink,
                                lambda p: os.access(p, os.W_OK), os.path.realpath])
        self.say("look at " + name)
        try:
            call(self.path(name))
        except OSError as error:
            self.may(error, SENSELESS)

    def size(self):
        name = self.rng.choice(list(self.round.wanted))
        self.say("size of " + name)
        try:
            size = os.stat(self.path(name)).st_size
        except OSError as error:
            return self.may(error, PASSING)
        if size != len(self.round.wanted[name]):
            raise Wrong("%s has %d bytes, not %d" % (name, size, len(self.round.wanted[name])))

    def attribute(self):
        name, key = self.any_name(), self.rng.choice(XATTRS)
        self.say("attribute %s of %s" % (key, name))
        try:
            if self.rng.random() < 0.3:
                os.listxattr(self.path(name))
            else:
                os.getxattr(self.path(name), key)
        except OSError as error:
            self.may(error, SENSELESS)

    def open_any(self):
        name = self.any_name()
        flags = self.rng.choice([os.O_RDONLY, os.O_RDWR, os.O_WRONLY, os.O_PATH])
        for flag in (os.O_DIRECT, os.O_TRUNC, os.O_CREAT, os.O_EXCL, os.O_NOFOLLOW, os.O_DIRECTORY,
                     os.O_NONBLOCK, os.O_NOATIME, os.O_APPEND, os.O_SYNC):
            if self.rng.random() < 0.15:
                flags |= flag
        if self.round.is_ending():
            return  # whatever is made would be made in the folder below
        self.say("open %s with %o" % (name, flags))
        try:
            fd = os.open(self.path(name), flags, 0o600)
        except OSError as error:
            return self.may(error, SENSELESS | {errno.EEXIST})
        if self.rng.random() < 0.3 and len(self.fds) < 20:
            self.fds.append(fd)  # stays open until the worker ends
        else:
            os.close(fd)

    def change(self):
        name = self.path(self.any_name())
        call = self.rng.choice([os.unlink, os.rmdir, lambda p: os.mkdir(p + "x"),
                                lambda p: os.rename(p, p + "x"), lambda p: os.symlink("x", p + "x"),
                                lambda p: os.link(p, p + "x"), lambda p: os.truncate(p, 5),
                                lambda p: os.utime(p), lambda p: os.chmod(p, 0o777),
                                lambda p: os.setxattr(p, "user.x", b"x"),
                                lambda p: os.mknod(p + "x")])
        self.say("change " + name)
        if self.round.is_ending():
            return
        try:
            call(name)
        except OSError as error:
            return self.may(error, SENSELESS | {errno.EEXIST, errno.EBUSY, errno.ENOTEMPTY})
        if not self.round.is_ending():
            raise Wrong("%s could be changed" % name)

    def check(self, name, offset, got, asked, is_whole):
        wanted = self.round.wanted[name]
        if bytes(got) != wanted[offset:offset + len(got)]:
            raise Wrong("wrong bytes of %s at %d (%d of them)" % (name, offset, len(got)))
        full = max(0, min(asked, len(wanted) - offset))
        # A signal may cut a direct read short, and an error whatever lies behind it.
        may_be_short = self.is_interrupted or self.round.is_faulty or self.round.is_ending()
        if is_whole and len(got) < full and not may_be_short:
            raise Wrong("%s at %d: %d bytes of %d" % (name, offset, len(got), full))
        if len(got) > full or (not got and full):
            raise Wrong("%s at %d: %d bytes of %d" % (name, offset, len(got), full))

    def place(self, name):
        size = len(self.round.wanted[name])
        return self.rng.choice([0, self.rng.randrange(size + 1), max(0, size - 5000), size,
                                size + 100, self.rng.randrange(size + 1)])

    def read(self):
        name = self.rng.choice(list(self.round.wanted))
        n = self.rng.choice([1, 512, 4096, 10240, 131072, 1 << 20, 3 << 20])
        is_direct = self.rng.random() < 0.4
        offset = self.place(name)
        if is_direct:
            offset, n = offset // BLOCK * BLOCK, max(BLOCK, n // BLOCK * BLOCK)
        times = self.rng.choice([1, 1, 1, 3, 30])  # in a row
        self.say("read %s at %d, %d x %d%s" % (name, offset, times, n, ", direct" * is_direct))
        try:
            fd = os.open(self.path(name), os.O_RDONLY | (os.O_DIRECT if is_direct else 0))
        except OSError as error:
            return self.may(error, PASSING)
        try:
            for _ in range(times):
                self.say("read %s at %d, %d%s" % (name, offset, n, ", direct" * is_direct))
                got = os.preadv(fd, [memoryview(self.buf)[:n]], offset)
                self.check(name, offset, memoryview(self.buf)[:got], n, True)
                offset += n
                if offset > len(self.round.wanted[name]):
                    break
        except OSError as error:
            self.may(error, PASSING)
        finally:
            os.close(fd)

    def read_many_ways(self):
        name = self.rng.choice(list(self.round.wanted))
        offset = self.place(name)
        way = self.rng.choice(["sendfile", "splice", "fadvise", "seek", "fork", "readahead"])
        self.say("%s of %s at %d" % (way, name, offset))
        fd = os.open(os.devnull, os.O_WRONLY)
        ends = os.pipe()
        try:
            file = os.open(self.path(name), os.O_RDONLY)
            self.fds.append(file)
            if way == "sendfile":
                os.sendfile(fd, file, offset, 100000)
            elif way == "splice":
                libc.splice(file, ctypes.byref(ctypes.c_int64(offset)), ends[1], None, 60000, 0)
            elif way == "fadvise":
                os.posix_fadvise(file, offset, 1 << 20, self.rng.choice(
                    [os.POSIX_FADV_WILLNEED, os.POSIX_FADV_DONTNEED, os.POSIX_FADV_RANDOM]))
            elif way == "seek":
                os.lseek(file, offset, self.rng.choice([os.SEEK_DATA, os.SEEK_HOLE, os.SEEK_SET]))
            elif way == "readahead":
                libc.readahead(file, ctypes.c_int64(offset), ctypes.c_size_t(1 << 20))
            else:
                child = os.fork()  # two at one descriptor
                if child == 0:
                    libc.prctl(1, signal.SIGKILL)
                got = os.pread(file, 5000, offset)
                if child == 0:
                    os._exit(0)
                os.waitpid(child, 0)
                self.check(name, offset, got, 5000, True)
        except OSError as error:
            if way == "fork" and "child" in locals() and child == 0:
                os._exit(0)
            self.may(error, PASSING | SENSELESS)
        finally:
            for each in (fd, *ends):
                os.close(each)
            while len(self.fds) > 20:
                os.close(self.fds.pop(0))

    def map(self):
        """An error is a SIGBUS, and the end of the worker: the parent knows when that may be."""
        name = self.rng.choice(list(self.round.wanted))
        self.say("map " + name)
        try:
            fd = os.open(self.path(name), os.O_RDONLY)
        except OSError as error:
            return self.may(error, PASSING)
        try:
            view = mmap.mmap(fd, 0, prot=mmap.PROT_READ)
        except OSError as error:
            return self.may(error, PASSING | {errno.ENODEV})  # with direct_io
        finally:
            os.close(fd)
        for _ in range(self.rng.randrange(1, 6)):
            offset = min(self.place(name), max(0, len(view) - 1))
            n = self.rng.choice([1, 5000, 100000])
            self.say("map %s at %d, %d" % (name, offset, n))
            self.check(name, offset, view[offset:offset + n], n, True)
        view.close()

    def snapshot(self):
        name = self.rng.choice(SNAPSHOTS)
        self.say("read " + name)
        try:
            with open(self.path(name), "rb") as file:
                text = file.read()
        except OSError as error:
            return self.may(error, PASSING)
        if name.endswith(".json"):
            json.loads(text)
        elif name.endswith("errors"):
            for line in text.splitlines():
                json.loads(line)

    def whole(self):
        name = self.rng.choice(["shards/train-000001.tar", "samples/" + self.rng.choice(self.round.members),
                                "shards/train-000002.idx", "epochs/1.order"])
        self.say("all of " + name)
        try:
            with open(self.path(name), "rb") as file:
                text = file.read()
        except OSError as error:
            return self.may(error, PASSING)
        if name in self.round.wanted and text != self.round.wanted[name] and not self.round.is_faulty:
            raise Wrong("wrong bytes of %s" % name)

    def run(self):
        signal.signal(signal.SIGALRM, lambda *_: None)
        if self.is_interrupted:
            signal.setitimer(signal.ITIMER_REAL, 0.05, self.rng.choice([0.02, 0.3]))
        operations = ([self.read] * 8 + [self.list_folder, self.look, self.look, self.size,
                      self.attribute, self.open_any, self.open_any, self.change,
                      self.read_many_ways, self.map, self.snapshot, self.whole])
        last = [self.read, self.look, self.attribute, self.list_folder, self.snapshot]
        while not self.round.is_ending():
            self.rng.choice(operations)()
            if self.rng.random() < 0.02:
                time.sleep(self.rng.random())
        # The mount goes while some have files open, and while some still call.
        for _ in range(self.rng.randrange(0, 20)):
            self.rng.choice(last)()


def start_worker(round_, number, rng):
    seed = rng.randrange(1 << 60)
    pid = os.fork()
    if pid:
        return pid
    libc.prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: nobody outlives the storm
    worker = Worker(round_, number, random.Random(seed))
    try:
        worker.run()
        worker.say("")
        os._exit(0)
    except (OSError, Wrong, ValueError) as error:
        was = bytes(round_.shared[worker.at:worker.at + SLOT]).rstrip(b"\0").decode()
        print("worker %d: %r (%s)" % (number, error, was), file=sys.stderr, flush=True)
        os._exit(1)
    except BaseException as error:
        print("worker %d: %r" % (number, error), file=sys.stderr, flush=True)
        os._exit(1)


class Storm:
    def __init__(self, args):
        self.args = args
        self.rng = random.Random(args.seed)
        self.wanted = {}
        self.shared = mmap.mmap(-1, SLOT * (N_WORKERS + 1))
        self.n_killed = self.n_ops = 0
        self.members = self.list_members()

    def list_members(self):
        found = []
        for shard in sorted(os.listdir(self.args.shards)):
            if shard.endswith(".tar"):
                with tarfile.open(os.path.join(self.args.shards, shard)) as tar:
                    names = [member.name for member in tar if member.isfile()]
                found += ["%s/%s" % (shard, name) for name in names[::7]]
        return found

    def cat(self, order, name):
        return subprocess.run([self.args.shufflefs, "cat", "-o", ORDERS[order], self.args.shards, name],
                              check=True, stdout=subprocess.PIPE).stdout

    def wanted_of(self, order):
        if order not in self.wanted:
            self.wanted[order] = {name: self.cat(order, name) for name in STREAMS}
            for shard in sorted(os.listdir(self.args.shards)):
                if shard.endswith(".tar"):
                    with open(os.path.join(self.args.shards, shard), "rb") as file:
                        self.wanted[order]["shards/" + shard] = file.read()
            for member in self.members[:6]:
                self.wanted[order]["samples/" + member] = self.cat(order, "samples/" + member)
        return self.wanted[order]

    def fail(self, why):
        for number in range(N_WORKERS):
            at = SLOT * (number + 1)
            print("worker %d: %s" % (number, bytes(self.shared[at:at + SLOT]).rstrip(b"\0").decode()))
        with open("log") as log:
            print("the daemon's log ends:\n" + "".join(log.readlines()[-30:]))
        sys.exit("%s (seed %d, %s)" % (why, self.args.seed, self.what))

    # ---- a round ----

    def mount(self, source, options):
        shutil.rmtree("mnt", ignore_errors=True)  # who was late has made something in it
        os.makedirs("mnt")
        self.log = open("log", "w")
        # Its errors of the source are wanted; its reports go where run-test looks for them.
        self.daemon = subprocess.Popen([self.args.shufflefs, "mount", "-f", "-o", options, source, "mnt"],
                                       stdout=self.log, stderr=self.log)
        end = time.monotonic() + CALL_LIMIT_S
        while not os.path.ismount("mnt") or not os.path.exists("mnt/README"):
            if self.daemon.poll() is not None or time.monotonic() > end:
                self.fail("the mount does not come")
            time.sleep(0.02)

    def look_after(self, workers, may_die):
        """Have the dead replaced.  A worker may be killed by us, and by SIGBUS where errors may be."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                break
            if pid == 0:
                break
            if pid == self.daemon.pid:
                self.daemon.returncode = os.waitstatus_to_exitcode(status)
                self.fail("the daemon has ended, status %d" % self.daemon.returncode)
            number = workers.pop(pid, None)
            if number is None:
                continue
            code = os.waitstatus_to_exitcode(status)
            if code == -signal.SIGBUS and (self.round.is_faulty or self.round.is_ending()):
                code = -signal.SIGKILL
            if code not in (0, -signal.SIGKILL):
                self.fail("worker %d ended with %d" % (number, code))
            if may_die:
                workers[start_worker(self.round, number, self.rng)] = number
        now = time.monotonic()
        for number in workers.values():
            at = SLOT * (number + 1)
            text = bytes(self.shared[at:at + SLOT]).rstrip(b"\0")
            try:
                since, what = json.loads(text)
            except ValueError:
                continue  # it is just being written, or was cut
            if what and now - since > CALL_LIMIT_S:
                self.fail("worker %d has been at it for %d s: %s" % (number, now - since, what))

    def blow(self, workers, seconds, stalled):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(0.05)
            if self.rng.random() < 0.15:
                os.kill(self.rng.choice(list(workers)), signal.SIGKILL)
                self.n_killed += 1
            if stalled and self.rng.random() < 0.1:
                if os.path.exists(stalled):
                    os.unlink(stalled)
                else:
                    open(stalled, "w").close()
            self.look_after(workers, True)

    def take_away(self, workers):
        """In one of many ways, and in time."""
        self.shared[0] = 1
        way = self.rng.choice(["SIGTERM", "SIGINT", "lazy", "umount -l", "readers first"])
        self.what += ", " + way
        if way == "readers first":
            for pid in list(workers):
                os.kill(pid, signal.SIGKILL)
            while workers:
                self.look_after(workers, False)
                time.sleep(0.01)
            done = subprocess.run([self.args.shufflefs, "umount", "mnt"], timeout=STOP_LIMIT_S)
            if done.returncode:
                self.fail("umount: status %d" % done.returncode)
        elif way == "lazy":
            subprocess.run([self.args.shufflefs, "umount", "--lazy", "mnt"], check=True, timeout=STOP_LIMIT_S)
        elif way == "umount -l":
            subprocess.run(["umount", "-l", "mnt"], check=True, timeout=STOP_LIMIT_S)
        else:
            self.daemon.send_signal(getattr(signal, way))
        if way in ("lazy", "umount -l"):  # it is gone when nobody uses it any more
            for pid in list(workers):
                os.kill(pid, signal.SIGKILL)
        try:
            status = self.daemon.wait(STOP_LIMIT_S)
        except subprocess.TimeoutExpired:
            self.fail("the daemon does not end")
        if status:
            self.fail("the daemon ended with %d" % status)
        end = time.monotonic() + CALL_LIMIT_S
        while workers:
            self.look_after(workers, False)
            if time.monotonic() > end:
                self.fail("workers do not end after the mount")
            time.sleep(0.01)
        self.log.close()
        with open("log") as log:
            if "exiting by force" in log.read():
                self.fail("the watchdog ended the daemon")
        if os.path.ismount("mnt"):
            self.fail("something is still mounted")

    def play(self, number, seconds):
        self.rng = random.Random("%d.%d" % (self.args.seed, number))
        order = self.rng.choice(list(ORDERS))
        fault = self.rng.choice(FAULTS) if self.args.origin else ""
        source, stalled = self.args.shards, None
        if self.args.origin and self.rng.random() < 0.7:
            source = self.args.origin + ("/" + fault if fault else "") + "/train-{000000..000003}.tar"
            stalled = os.path.join(self.args.shards, "stalled") if "stalled" in fault else None
        else:
            fault = ""
        timeout_s = self.rng.choice([1, READ_TIMEOUT_S]) if fault else READ_TIMEOUT_S
        options = ",".join([ORDERS[order], self.rng.choice(EXTRAS), "read-timeout=%ds" % timeout_s,
                            "stall-timeout=3s,retries=2,index-cache=no"])
        self.what = "round %d: %s %s" % (number, options, source)
        print(self.what, flush=True)
        wanted = self.wanted_of(order)
        self.shared[0] = 0
        self.shared[SLOT:] = bytes(SLOT * N_WORKERS)
        self.round = Round("mnt", wanted, self.members, fault != "", self.shared)
        self.mount(source, options)
        workers = {start_worker(self.round, n, self.rng): n for n in range(N_WORKERS)}
        self.blow(workers, seconds, stalled)
        self.take_away(workers)
        if stalled and os.path.exists(stalled):
            os.unlink(stalled)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("shufflefs")
    parser.add_argument("shards")
    parser.add_argument("--seconds", type=int, default=40)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--origin")
    parser.add_argument("--only", type=int)
    args = parser.parse_args()
    if args.seed is None:
        args.seed = random.SystemRandom().randrange(1 << 32)
    print("seed %d" % args.seed, flush=True)
    storm = Storm(args)
    if args.only is not None:
        storm.play(args.only, args.seconds)
        return
    end = time.monotonic() + args.seconds
    number = 0
    while time.monotonic() < end:
        storm.play(number, random.Random("%d.%d.s" % (args.seed, number)).uniform(1, 6))
        number += 1
    print("%d rounds, %d workers were killed" % (number, storm.n_killed))


main()
