#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""shufflefs.Batches and shufflefs.forward, against real children.

  python-batches.py [CLASS...]

$SHUFFLEFS is the program; the sidecar has come with the module.  Works in the current folder, which has
shards/, 2 shards of 300 samples; and, for the class Mount, a mount of them, mnt, with seed 3.
"""
import io
import json
import logging
import os
import pickle
import signal
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
import traceback
import unittest
from unittest import mock

import numpy
import shufflefs
from shufflefs import child

try:
    import torch
except ImportError:
    torch = None

LONG = 60  # seconds, that nothing here takes
N, SIZE = 600, 3000


def write_tar(path, numbers, label=str):
    """Samples whose label says what their bytes are."""
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as tar:
        for i in numbers:
            for field, data in ("cls", label(i).encode()), ("bin", bytes([i % 251]) * SIZE):
                member = tarfile.TarInfo("s/%06d.%s" % (i, field))
                member.size = len(data)
                tar.addfile(member, io.BytesIO(data))


def labels(batches):
    return [int(label) for batch in batches for label in batch["cls"]]


def children():
    """The programs of shufflefs that this process has started."""
    with open("/proc/self/task/%d/children" % threading.get_native_id()) as file:
        pids = file.read().split()
    return [int(pid) for pid in pids if os.readlink("/proc/%s/exe" % pid).split("/")[-1].startswith("shufflefs")]


def until(condition, what):
    end = time.monotonic() + LONG * 5
    while not condition():
        if time.monotonic() > end:
            raise AssertionError("waited in vain until " + what)
        time.sleep(0.02)


def is_gone(pid):
    try:
        with open("/proc/%d/stat" % pid) as file:
            return file.read().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True


class Case(unittest.TestCase):
    maxDiff = 400
    fields = "cls;bin:raw,u1,%d" % SIZE

    def setUp(self):
        self.addCleanup(lambda: self.assertEqual(children(), []))

    def batches(self, where="x.tar", fields=None, batch=16, **more):
        batches = shufflefs.Batches(where, fields or self.fields, batch, **more)
        self.addCleanup(batches.close)
        return batches

    def are_right(self, kept):
        for batch in kept:
            rows = numpy.asarray(batch["bin"])
            self.assertTrue((rows == numpy.asarray(batch["cls"])[:, None] % 251).all(), "wrong samples")


class File(Case):
    """One tar, as it is, is each epoch."""

    @classmethod
    def setUpClass(cls):
        write_tar("x.tar", range(N))

    def test_each_iteration_is_an_epoch(self):
        batches = self.batches()
        for epoch in range(3):
            self.assertEqual(batches.epoch, epoch)
            got = []
            for batch in batches:
                self.assertEqual((batch.epoch, batch.first, batch.end - batch.first, batch.n_samples),
                                 (epoch, len(got), len(batch["cls"]), len(batch["cls"])))
                got += batch["cls"].tolist()
            self.assertEqual(got, list(range(N)))
        with self.assertRaises(TypeError):
            len(batches)

    def test_what_is_kept_stays_as_it_is(self):
        for slots in 2, 3, 4, 9:
            kept = list(self.batches(slots=slots))
            self.are_right(kept)
            self.assertEqual(labels(kept), list(range(N)), "wrong samples")
        for more in {}, {"ring": "shared-ring"}:
            batches, held = self.batches(slots=2, **more), []
            for i, batch in enumerate(batches):
                held.append((batch.first + 1, batch["bin"][1:3]))  # a view of a view
                if i == 30:
                    held.clear()
            self.assertGreater(len(held), 0)
            for first, view in held:
                self.assertTrue((view[:, 0] == [first % 251, (first + 1) % 251]).all(), "wrong samples")

    def test_a_loop_that_keeps_nothing_gets_views(self):
        batches, n_copies = self.batches(slots=4), 0
        for batch in batches:
            memory = batch["bin"].base
            while isinstance(memory, numpy.ndarray):
                memory = memory.base
            n_copies += not hasattr(memory.obj if isinstance(memory, memoryview) else memory, "lease")
        self.assertEqual(n_copies, 0)

    def test_a_state_goes_on_with_each_sample_once(self):
        for n in 1, 7, (N + 15) // 16:
            batches, got = self.batches(), []
            batches.set_epoch(2)
            for _, batch in zip(range(n), batches):
                got += batch["cls"].tolist()
            state = json.loads(json.dumps(batches.state_dict()))
            self.assertEqual((state["epoch"], state["next"]), (2, len(got)))
            other = self.batches()
            other.load_state_dict(state)
            half = len(got)
            for batch in other:  # a second time in one epoch
                got += batch["cls"].tolist()
                if len(got) >= half + 32:
                    break
            third = self.batches()
            third.load_state_dict(other.state_dict() if len(got) < N else state)
            if len(got) < N:
                got += labels(third)
                self.assertEqual(third.state_dict()["epoch"], 3)
            self.assertEqual(got, list(range(N)), "wrong samples")
        self.assertEqual(labels(other), list(range(N)))  # a loop that was left is an epoch
        with self.assertRaisesRegex(ValueError, "sample 20 is in the middle of a batch"):
            third.load_state_dict({"epoch": 0, "next": 20})
            labels(third)
        with self.assertRaisesRegex(ValueError, "to rank 1 of 2, and this is rank 0 of 1"):
            third.load_state_dict({"epoch": 0, "next": 0, "rank": 1, "world": 2})
        with self.assertRaisesRegex(ValueError, "version 2"):
            third.load_state_dict({"version": 2, "epoch": 0, "next": 0})

    def test_a_loop_that_is_left_ends_its_child_and_is_an_epoch(self):
        batches = self.batches()
        for batch in batches:
            break
        self.assertEqual(children(), [])
        self.assertEqual(batches.state_dict()["next"], 16)
        self.assertEqual(labels(batches), list(range(N)))
        self.assertEqual(batches.epoch, 2)
        one, two = iter(batches), None
        next(one)
        two = iter(batches)
        self.assertEqual(next(two).first, 0)
        with self.assertRaisesRegex(shufflefs.RingError, "another one was begun"):
            next(one)
        self.assertEqual(next(two).epoch, 3)
        self.are_right([batch])  # of a child that has ended long ago

    def test_a_childs_error_is_an_exception_with_its_sentence(self):
        for kind, fields, sentence in (
                (ValueError, "clss", "--fields: character 5: field 'clss' needs ':'"),
                (shufflefs.RingError, "clss:i4", r"x.tar: sample 0 \('s/000000'\) of epoch 0: it has no field 'clss'"),
                (shufflefs.RingError, "bin:raw,u1,2", r"x.tar: sample 0 .*: field 'bin': it has 3000 bytes, not 2")):
            with self.assertRaisesRegex(kind, "^" + sentence):
                labels(self.batches(fields=fields))
        with self.assertRaisesRegex(shufflefs.RingError, "none-0.tar: cannot open: No such file"):
            labels(self.batches("none-{epoch}.tar"))
        write_tar("broken.tar", range(64), lambda i: "x" if i == 40 else str(i))
        batches, got = self.batches("broken.tar"), []
        with self.assertRaisesRegex(shufflefs.RingError, r"sample 40 \('s/000040'\) of epoch 0: field 'cls'") as raised:
            for batch in batches:
                got += batch["cls"].tolist()
        self.assertEqual(raised.exception.errno, 5)
        # (32, or none if the child has failed before there was a trainer)
        self.assertEqual(got, list(range(32))[:len(got)])
        self.assertEqual((batches.state_dict()["epoch"], batches.state_dict()["next"]), (0, len(got)))
        with self.assertLogs("shufflefs", logging.WARNING) as logs:
            skipping = self.batches("broken.tar", on_error="skip", max_skip=1.6, memory="64M")
            self.assertEqual(labels(skipping), [i for i in range(64) if i != 40])
        self.assertIn("s/000040", logs.output[0])
        for few in {}, {"max_skip": 1.5}:
            with self.assertRaisesRegex(shufflefs.RingError, "1 of 64 samples are broken, which is more than --max-skip"):
                labels(self.batches("broken.tar", on_error="skip", **few))
        with self.assertRaisesRegex(ValueError, "^--memory: '1' is not a size"):
            labels(self.batches(memory=1))

    def test_a_child_that_is_killed_is_an_error_and_the_next_iteration_goes_on(self):
        batches, got = self.batches(), []
        with self.assertRaisesRegex(shufflefs.RingError, r"killed by signal 9 \(SIGKILL\)"):
            for batch in batches:
                got += batch["cls"].tolist()
                if len(got) == 160:
                    os.kill(children()[0], signal.SIGKILL)
        self.assertEqual(labels([batch]), got[-16:])
        got += labels(batches)
        self.assertEqual(got, list(range(N)), "wrong samples")
        self.assertEqual(batches.epoch, 1)

    def test_a_program_that_is_missing_is_named_with_what_helps(self):
        with mock.patch.dict(os.environ, {"PATH": "/nowhere"}), mock.patch.object(child, "BUNDLED", "/nowhere"), \
                mock.patch.object(child.sysconfig, "get_path", lambda _: "/nowhere"):
            with self.assertRaisesRegex(FileNotFoundError, "shufflefs-sidecar is not installed.*pip install"):
                labels(self.batches())
            with mock.patch.dict(os.environ):
                os.environ.pop("SHUFFLEFS", None)
                with self.assertRaisesRegex(FileNotFoundError, "^shufflefs is not installed: .*run 'make install'"):
                    labels(self.batches(["no.tar"]))
            os.environ["SHUFFLEFS_SIDECAR"] = "/nowhere/it"
            with self.assertRaisesRegex(FileNotFoundError, "SHUFFLEFS_SIDECAR=/nowhere/it: there is no"):
                labels(self.batches())

    def start(self, program):
        process = subprocess.Popen([sys.executable, "-c", "import signal, sys, shufflefs\n"
                                    "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
                                    "batches = shufflefs.Batches('x.tar', 'cls', 16)\n" + program],
                                   stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True)

        def end():
            process.stdin.close()
            process.stdout.close()
            process.kill()
            process.wait()
        self.addCleanup(end)
        return process

    SAY_CHILD = ("def child(): return batches._run._sidecar._process.pid, batches._run._folder.path\n"
                 "it = iter(batches); next(it); print(*child(), flush=True)\n")

    def test_the_child_ends_with_its_parent(self):
        for how in "sys.exit(0)", "sys.stdin.read()", "import os; os.fork(); sys.stdin.read()":
            parent = self.start(self.SAY_CHILD + how)
            pid, folder = parent.stdout.readline().split()
            if "read" in how:
                parent.kill()  # (the child of fork() lives on)
            parent.wait(LONG)
            until(lambda: is_gone(int(pid)), "the child of %s has gone" % how)
            if os.path.exists(folder):  # of a trainer that was killed; the next one removes it
                os.utime(folder, (0, 0))
                next(iter(self.batches()))
            until(lambda: "fork" in how or not os.path.exists(folder), "the folder of %s has gone" % how)

    def test_nothing_is_left_after_an_end(self):
        parent = self.start(self.SAY_CHILD + "1 / 0")
        pid, folder = parent.stdout.readline().split()
        self.assertEqual(parent.wait(LONG), 1)
        self.assertTrue(is_gone(int(pid)))
        self.assertFalse(os.path.exists(folder))

    def test_ctrl_c_is_the_trainers(self):
        # (the fifo is an epoch that never comes)
        os.path.exists("fifo-0.tar") or os.mkfifo("fifo-0.tar")
        for program in ("it = iter(batches); next(it)\n"
                        "try: print('waits', flush=True); sys.stdin.read()\n",
                        "batches = shufflefs.Batches('fifo-{epoch}.tar', 'cls')\n"
                        "try: print('waits', flush=True); next(iter(batches))\n"):
            trainer = self.start(program + "except KeyboardInterrupt: print('ended', flush=True)")
            self.assertEqual(trainer.stdout.readline(), "waits\n")
            time.sleep(0.1)
            trainer.send_signal(signal.SIGINT)
            self.assertEqual(trainer.stdout.read(), "ended\n")
            self.assertEqual(trainer.wait(LONG), 0)

    def test_a_child_of_fork_iterates_anew(self):
        batches = self.batches()
        it = iter(batches)
        got = labels([next(it)])
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                self.assertRaisesRegex(shufflefs.RingError, "after fork", next, it)
                self.assertEqual(labels(self.batches()), list(range(N)))
                self.assertEqual(labels(batches)[:3], [16, 17, 18])
                self.assertEqual(children(), [])
                status = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(status)
        self.assertEqual(os.waitpid(pid, 0)[1], 0)
        self.assertEqual(got + labels(it), list(range(N)), "wrong samples")

    def test_others_may_take_from_a_ring_that_is_named(self):
        batches = self.batches(ring="named-ring")
        it, got = iter(batches), []
        got += labels([next(it)])
        with shufflefs.Ring("named-ring", timeout=LONG) as ring:
            taken = ring.next(LONG)
            got += taken["cls"].tolist()
            taken.release()
        got += labels(it)
        self.assertEqual(sorted(got), list(range(N)), "wrong samples")

    def test_the_key_is_a_tensor(self):
        for batch in self.batches(fields="key:bytes,20;cls"):
            for row, n, label in zip(batch["key"], batch["key_len"], batch["cls"]):
                self.assertEqual(row[:n].tobytes(), b"s/%06d" % label)

    @unittest.skipUnless(torch, "no torch")
    def test_a_data_loader_takes_it_and_its_workers_are_refused(self):
        batches = self.batches()
        kept = list(torch.utils.data.DataLoader(batches, batch_size=None, num_workers=0))
        self.assertTrue(all(isinstance(batch["bin"], torch.Tensor) for batch in kept))
        self.assertEqual(sum([batch["cls"].tolist() for batch in kept], []), list(range(N)))
        self.are_right(kept)
        with self.assertRaisesRegex(RuntimeError, "num_workers=0"):
            list(torch.utils.data.DataLoader(batches, batch_size=None, num_workers=2))
        self.assertEqual(labels(pickle.loads(pickle.dumps(batches))), list(range(N)))
        batch = next(iter(batches))
        self.assertEqual(batch.torch("bin").data_ptr(), batch["bin"].__array_interface__["data"][0])

    @unittest.skipUnless(torch, "no torch")
    def test_a_worker_that_takes_from_a_ring_sends_copies(self):
        path = os.path.join(tempfile.mkdtemp(dir="."), "ring")

        class Trainer(torch.utils.data.IterableDataset):
            def __iter__(self):
                with shufflefs.Ring(path, timeout=LONG) as ring:
                    for batch in ring:
                        yield {"bin": batch.torch("bin"), "cls": batch["cls"]}
        send = subprocess.Popen([child.find_program("shufflefs-sidecar"), "send", "x.tar", "local:" + path, "--batch=4",
                                 "--fields=" + self.fields])
        self.addCleanup(send.wait)
        loader = torch.utils.data.DataLoader(Trainer(), batch_size=None, num_workers=1)
        got = [batch for batch in loader]
        self.are_right(got)
        self.assertEqual(sum([batch["cls"].tolist() for batch in got], []), list(range(N)))


class Shards(Case):
    """shufflefs cat writes each epoch."""

    def test_an_epoch_is_what_cat_writes(self):
        batches = self.batches("shards", options="seed=3", rank=1, world=2)
        epochs = [labels(batches), labels(batches)]
        for epoch, got in enumerate(epochs):
            written = subprocess.run([os.environ["SHUFFLEFS"], "cat", "-o", "seed=3", "shards",
                                      "epochs/%d/rank-1-of-2.tar" % epoch], stdout=subprocess.PIPE, check=True)
            with tarfile.open(fileobj=io.BytesIO(written.stdout)) as tar:
                want = [int(tar.extractfile(member).read()) for member in tar if member.name.endswith("cls")]
            self.assertEqual(got, want, "wrong samples")
        self.assertNotEqual(*epochs)

    def test_a_state_goes_on_at_any_sample(self):
        want, batches, got = labels(self.batches(["shards"], options="seed=3")), self.batches(["shards"], options="seed=3"), []
        for _, batch in zip(range(5), batches):
            got += batch["cls"].tolist()
        other = self.batches(["shards"], batch=50, options="seed=3")
        other.load_state_dict(batches.state_dict())
        self.assertEqual(got + labels(other), want, "wrong samples")
        self.assertEqual(labels(other)[:3], labels(batches)[:3])
        other.load_state_dict({"epoch": 0, "next": N})
        self.assertEqual((labels(other), other.epoch), ([], 1))

    def test_the_first_child_that_failed_says_why(self):
        with self.assertRaisesRegex(shufflefs.RingError, "^'nowhere' is neither a file nor"):
            labels(self.batches("nowhere"))
        with self.assertRaisesRegex(ValueError, "rank is 0 to 1, not 2"):
            self.batches("shards", rank=2, world=2)
        with self.assertRaisesRegex(shufflefs.RingError, "seeed"):
            labels(self.batches("shards", options="seeed=3"))


class Mount(Case):
    """A mount has the epochs, and forwards them."""

    def test_a_mount_has_all_epochs_and_ranks(self):
        epochs = [labels(self.batches("mnt/epochs/%d.tar" % epoch)) for epoch in (0, 1)]
        batches = self.batches("mnt")
        self.assertEqual(len(batches), (N + 15) // 16)
        self.assertEqual([labels(batches), labels(batches)], epochs, "wrong samples")
        self.assertEqual(sorted(epochs[0]), list(range(N)))
        parts = [labels(self.batches("mnt", rank=rank, world=3)) for rank in range(3)]
        self.assertEqual(sorted(sum(parts, [])), list(range(N)))
        self.assertEqual(labels(self.batches("mnt/epochs/0/rank-1-of-3.tar")), parts[1])
        self.assertEqual(labels(self.batches("mnt/epochs/0@100.tar")), epochs[0][100:])

    def test_a_state_goes_on_at_any_sample_and_knows_its_order(self):
        batches, got = self.batches("mnt", batch=33, rank=1, world=2), []
        want = labels(batches)
        batches.set_epoch(0)
        for _, batch in zip(range(3), batches):
            got += batch["cls"].tolist()
        state = json.loads(json.dumps(batches.state_dict()))
        other = self.batches("mnt", rank=1, world=2)
        other.load_state_dict(state)
        self.assertEqual(len(other), (len(want) - 99 + 15) // 16)
        self.assertEqual(got + labels(other), want, "wrong samples")
        other.load_state_dict({"epoch": 0, "next": len(want)})
        self.assertEqual((len(other), labels(other), other.epoch), (0, [], 1))
        with self.assertRaisesRegex(ValueError, "sample 601, but mnt/epochs/0.* has only %d" % len(want)):
            other.load_state_dict({"epoch": 0, "next": 601})
        with self.assertRaisesRegex(ValueError, "to another order than that of mnt/epochs/0"):
            other.load_state_dict({**state, "order": "0" * 16})

    def test_forward_feeds_a_ring(self):
        with shufflefs.forward("mnt/epochs/0.tar", "local:forwarded", self.fields, batch=50) as session:
            self.assertEqual(session.ring, os.path.abspath("forwarded"))
            self.assertIn(session.status().state, ("connecting", "streaming"))
            self.assertRaises(TimeoutError, session.wait, 0.01)
            with shufflefs.Ring(session.ring, timeout=LONG) as ring:
                got = labels(ring)
            status = session.wait(LONG)
        self.assertEqual((status.state, status.batches, status.samples, status.next, status.pid, status.exit_status),
                         ("done", N // 50, N, N, 0, 0))
        self.assertGreater(status.bytes, N * SIZE)
        self.assertEqual(got, labels(self.batches("mnt")))
        self.assertRaisesRegex(shufflefs.ForwardError, "was closed", session.status)

        with shufflefs.forward("mnt/epochs/0.tar", "samples:given", first=500) as session:
            keys = [sample.key for sample in shufflefs.Samples(session.ring, timeout=LONG)]
            self.assertEqual((len(keys), session.wait(LONG).samples), (N - 500, N - 500))

    def test_forward_says_what_is_wrong(self):
        forward = shufflefs.forward
        for path in "shards/0.tar", "mnt/README":
            with self.assertRaisesRegex(shufflefs.ForwardError, path + ": not a stream of a shufflefs mount"):
                forward(path, "local:x", "cls")
        self.assertRaises(FileNotFoundError, forward, "mnt/epochs/x.tar", "local:x", "cls")
        self.assertRaisesRegex(ValueError, "fields is missing", forward, "mnt/epochs/0.tar", "local:x")
        self.assertRaisesRegex(ValueError, "on_error is fail or skip, not 'go'", forward, "mnt/epochs/0.tar",
                               "local:x", "cls", on_error="go")
        self.assertRaisesRegex(ValueError, "at most 1023 bytes", forward, "mnt/epochs/0.tar",
                               "tcp://" + "x" * 1024, "cls")
        for target, why in (("zpush+ipc://" + "x" * 97, "at most 96 bytes"), ("local:?memory=host", "has no path"),
                            ("local:", "has no path"), ("udp://x", "has an unknown scheme")):
            self.assertRaisesRegex(shufflefs.ForwardError, why, forward, "mnt/epochs/0.tar", target, "cls")
        with forward("mnt/epochs/0.tar", "local:x", "clss:i4") as session:
            with self.assertRaisesRegex(shufflefs.ForwardError, "mnt/epochs/0.tar: .*it has no field 'clss'"):
                session.wait(LONG)
            self.assertEqual(session.status().state, "failed")
        with forward("mnt/epochs/0.tar", "local:stopped", "cls", batch=1) as session:
            session.stop()
            self.assertEqual(session.wait(LONG).state, "stopped")

    def test_ctrl_c_ends_a_wait(self):
        waiter = subprocess.Popen([sys.executable, "-c", "import signal, shufflefs\n"
                                   "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
                                   "with shufflefs.forward('mnt/epochs/1.tar', 'local:waits', 'cls', batch=1) as f:\n"
                                   "    try: print('waits', flush=True); f.wait()\n"
                                   "    except KeyboardInterrupt: print('ended')\n"],
                                  stdout=subprocess.PIPE, text=True)
        self.assertEqual(waiter.stdout.readline(), "waits\n")
        waiter.send_signal(signal.SIGINT)
        self.assertEqual(waiter.communicate()[0], "ended\n")
        self.assertEqual(waiter.returncode, 0)


if __name__ == "__main__":
    # (classes that need more than is here are left out)
    unittest.main(defaultTest=sys.argv[1:], argv=sys.argv[:1], verbosity=2)
