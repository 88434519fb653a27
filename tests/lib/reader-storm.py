#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Readers of many kinds, 1 to 64 at a time, of mounts with budgets of 8 to 64 MiB.  Each byte is
compared with `shufflefs cat`; no read may fail, none may be short, and the daemon must live and
end well.

  reader-storm.py SHUFFLEFS FOLDER... [--origin URL]... [--seconds 60] [--seed TEXT]

Each FOLDER has a dataset; the N-th --origin serves the N-th of them.  It runs rounds, each with a
mount of its own, until the time is over.  The seed of a round is printed; --only SEED repeats it.
"""
import argparse
import mmap
import os
import random
import re
import signal
import subprocess
import sys
import time

BLOCK = 4096
MOST = 1 << 20
ROUND_S = 8
HANG_S = 300  # after the end of a round


class Wrong(Exception):
    pass


# ---- a reader: a process ----

def opener(path, how):
    """A function (offset, length) -> (where the bytes begin, bytes)."""
    if how == "direct":
        fd = os.open(path, os.O_RDONLY | os.O_DIRECT)
        memory = mmap.mmap(-1, MOST + BLOCK)

        def direct(offset, n):
            offset = offset // BLOCK * BLOCK
            n = -(-n // BLOCK) * BLOCK
            return offset, memory[:os.preadv(fd, [memoryview(memory)[:n]], offset)]

        return fd, direct
    fd = os.open(path, os.O_RDONLY)
    if how == "cached":
        return fd, lambda offset, n: (offset, os.pread(fd, n, offset))
    view = mmap.mmap(fd, 0, prot=mmap.PROT_READ, flags=mmap.MAP_SHARED)
    return fd, lambda offset, n: (offset, view[offset:offset + n])


def in_order(rng, size, n):
    while True:
        yield from ((at, n) for at in range(0, size, n))


def whole(rng, size):
    return in_order(rng, size, MOST)


def in_small_steps(rng, size):
    return in_order(rng, size, 10240)


def in_odd_steps(rng, size):
    at = 0
    while True:
        n = rng.randrange(1, 300000)
        yield at, n
        at = at + n if at + n < size else 0


def anywhere(rng, size):
    while True:
        yield rng.randrange(size), rng.randrange(1, 70000)


def leaping(rng, size):
    while True:
        at, n = rng.choice([0, rng.randrange(size), rng.randrange(size)]), rng.choice([MOST, 300 * BLOCK // 4, 1 << 17])
        for _ in range(rng.choice([1, 3, 20, 60])):
            if at < size:
                yield at, min(n, MOST)
            at += n


def striding(rng, size):
    at, step = 0, rng.randrange(1, 10) << 20
    while True:
        yield at, 65536
        at = at + step if at + step < size else rng.randrange(min(size, 1 << 20))


def backwards(rng, size):
    while True:
        for at in range(size - 1 - (size - 1) % (1 << 17), -1, -(1 << 17)):
            yield at, 1 << 17


def with_rests(rng, size):
    for place in in_odd_steps(rng, size):
        if rng.randrange(60) == 0:
            time.sleep(rng.choice([0.1, 1, 3]))
        yield place


def from_the_start_again(rng, size):
    while True:
        at = 0
        for _ in range(rng.randrange(1, 12)):
            yield at, 1 << 17
            at = (at + (1 << 17)) % size
        yield None  # open it again


PATTERNS = [whole, in_small_steps, in_odd_steps, anywhere, leaping, striding, backwards, with_rests,
            from_the_start_again]
HOWS = ["cached", "direct", "mapped"]


def read_on(path, copy, how, pattern, rng, until):
    with open(copy, "rb") as file:
        want = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
    size = len(want)
    if os.stat(path).st_size != size:
        raise Wrong("size %d, not %d" % (os.stat(path).st_size, size))
    fd, read = opener(path, how)
    for place in pattern(rng, size):
        if time.monotonic() > until:
            break
        if place is None:
            os.close(fd)
            fd, read = opener(path, how)
            continue
        at, got = read(*place)
        n = min(place[1], size - at) if how != "direct" else min(-(-place[1] // BLOCK) * BLOCK, size - at)
        if len(got) != n:
            raise Wrong("%d bytes at %d, not %d" % (len(got), at, n))
        if got != want[at:at + n]:
            k = next(i for i in range(n) if got[i] != want[at + i])
            raise Wrong("wrong bytes at %d: those of %d" % (at + k, want.find(got[k:k + 64])))


def start_reader(name, *args):
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        read_on(*args)
        status = 0
    except (Wrong, OSError) as e:
        print("%s: %s" % (name, e), file=sys.stderr, flush=True)
    os._exit(status)


# ---- a round: a mount ----

def options_of(rng):
    lanes = rng.choice([1, 2, 3, 3, 4, 8, 16])
    options = ["lanes=%d" % lanes, "seed=%d" % rng.randrange(1000),
               "buffer=%s" % rng.choice(["4K", "1M", "16M"]),
               "segment=%s" % rng.choice(["shard", "shard", "random", "sample", "1M"])]
    if rng.randrange(4) == 0:
        options.append("equal=%s" % rng.choice(["drop", "pad"]))
    return ",".join(options)


class Round:
    def __init__(self, args, seed):
        self.args, self.seed, self.rng = args, seed, random.Random(seed)
        self.what = ""

    def fail(self, text):
        if os.path.exists("log"):
            sys.stderr.write(open("log", errors="replace").read()[-6000:])
        sys.exit("round %s (%s): %s" % (self.seed, self.what, text))

    def mount(self, source, options):
        """The daemon; or None, if it says that the budget is too small."""
        log = open("log", "w")
        daemon = subprocess.Popen([self.args.shufflefs, "mount", "-f", "-o", options, source, "mnt"], stderr=log)
        while not os.path.ismount("mnt"):
            if daemon.poll() is None:
                time.sleep(0.02)
            elif "too small" in open("log").read():
                return None
            else:
                self.fail("mount ended with status %d" % daemon.returncode)
        return daemon

    def wait_for(self, readers):
        bad = []
        until = time.monotonic() + ROUND_S + HANG_S
        while readers:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid in readers:
                name = readers.pop(pid)
                if status:
                    bad.append("%s: status %d" % (name, status))
            elif time.monotonic() > until:
                for pid in readers:
                    os.kill(pid, signal.SIGKILL)
                self.fail("still reading: " + ", ".join(readers.values()))
            elif pid == 0:
                time.sleep(0.02)
        return bad

    def run(self):
        rng, args = self.rng, self.args
        k = rng.randrange(len(args.folders))
        folder = args.folders[k]
        source = args.origin[k] + "/" if k < len(args.origin) and rng.randrange(3) == 0 else folder
        if source != folder:
            source = sorted(os.listdir(folder))
            source = "%s/{%s}" % (args.origin[k], ",".join(n for n in source if n.endswith(".tar")))
        order = options_of(rng)
        budget = rng.choice([8, 9, 10, 10, 12, 13, 16, 24, 32, 64])
        n_readers = rng.choice([1, 2, 4, 7, 12, 14, 24, 40, 64])
        self.what = "%s,budget=%dM, %d readers of %s" % (order, budget, n_readers, source[:60])
        epochs = list(range(rng.choice([1, 1, 2, 5])))
        for e in epochs:
            with open("want.%d" % e, "wb") as file:
                if subprocess.call([args.shufflefs, "cat", "-o", order + ",index-cache=no", folder,
                                    "epochs/%d.tar" % e], stdout=file):
                    self.fail("cat failed")
        daemon = self.mount(source, order + ",budget=%dM,next-epoch=%s,index-cache=no,read-timeout=60s"
                            % (budget, rng.choice(["no", "auto"])))
        if not daemon:
            return False
        shards = sorted(n for n in os.listdir(folder) if n.endswith(".tar"))
        readers = {}
        until = time.monotonic() + ROUND_S
        for i in range(n_readers):
            how, pattern = rng.choice(HOWS), rng.choice(PATTERNS)
            if rng.randrange(7) == 0:
                name = rng.choice(shards)
                path, copy = "mnt/shards/" + name, os.path.join(folder, name)
            else:
                e = rng.choice(epochs)
                path, copy = "mnt/epochs/%d.tar" % e, "want.%d" % e
            name = "reader %d, %s %s of %s" % (i, how, pattern.__name__, path)
            readers[start_reader(name, path, copy, how, pattern, random.Random("%s/%d" % (self.seed, i)),
                                 until)] = name
        bad = self.wait_for(readers)
        if bad:
            self.fail("; ".join(bad[:8]) + "\n" + open("mnt/.shufflefs/errors").read()[:4000])
        subprocess.call([args.shufflefs, "umount", "mnt"])
        if daemon.wait(timeout=HANG_S):
            self.fail("the daemon ended with status %d" % daemon.returncode)
        if re.search("Sanitizer|runtime error|read-timeout", open("log", errors="replace").read()):
            self.fail("the log")
        return True


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("shufflefs")
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--origin", action="append", default=[])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--only")
    args = parser.parse_args()
    os.makedirs("mnt", exist_ok=True)
    until = time.monotonic() + args.seconds
    n = n_read = 0
    while time.monotonic() < until or n_read == 0:
        seed = args.only or "%s.%d" % (args.seed, n)
        n += 1
        r = Round(args, seed)
        has_read = r.run()
        print("round %s: %s%s" % (seed, r.what, "" if has_read else ": refused"), flush=True)
        n_read += has_read
        if args.only:
            break


main()
