#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The Python module against a real producer.

  python-ring.py PRODUCER TOP     PRODUCER is tests/lib/ring-producer
"""
import ctypes
import importlib.metadata
import mmap
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import weakref
from unittest import mock

import numpy
import shufflefs
import shufflefs.device
import shufflefs.ring

try:
    import torch
except ImportError:
    torch = None

PRODUCER, TOP = sys.argv[1:3]
LONG = 60  # seconds, that nothing here takes


class Case(unittest.TestCase):
    memory = "host"

    def setUp(self):
        folder = tempfile.TemporaryDirectory(dir=".")
        self.addCleanup(folder.cleanup)
        self.path = os.path.relpath(os.path.join(folder.name, "ring"))
        self.producer = self.start([PRODUCER, self.path, "4", self.memory])

    def start(self, command, **more):
        child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                 bufsize=1, **more)

        def end():
            child.stdin.close()
            child.stdout.close()
            child.kill()
            child.wait()
        self.addCleanup(end)
        return child

    def say(self, *lines):
        for line in lines:
            self.producer.stdin.write(line + "\n")
            answer = self.producer.stdout.readline()
        return answer

    def attach(self):
        return shufflefs.Ring(self.path, timeout=LONG)

    def kill_producer(self):
        self.producer.kill()
        self.producer.wait()


class Test(Case):
    def test_values_are_exact_and_views(self):
        ring = self.attach()
        self.say("batch 4", "batch 3", "end")
        self.assertEqual(ring.state_dict(), {})
        b = ring.next(LONG)
        self.assertEqual((b.seq, b.epoch, b.first, b.end, b.n_samples, b.sender), (0, 3, 0, 4, 4, 0))
        self.assertEqual(list(b.keys()), ["jpg", "cls", "emb", "half", "is_odd", "wide"])
        self.assertTrue("jpg" in b and "png" not in b)
        self.assertRaises(KeyError, lambda: b["png"])
        s = numpy.arange(4)
        numpy.testing.assert_array_equal(
            b["jpg"], (s[:, None] + numpy.arange(192)).astype("u1").reshape(4, 8, 8, 3))
        for name, dtype, wanted in (
                ("cls", "<i4", s), ("emb", "<f4", numpy.repeat(s, 5).reshape(4, 5)),
                ("is_odd", "?", s % 2 == 1), ("wide", "<u2", numpy.repeat(s, 2).reshape(4, 2)),
                ("half", "<u2", [[0] * 3, [0x3f80] * 3, [0x4000] * 3, [0x4040] * 3])):
            self.assertEqual(b[name].dtype, numpy.dtype(dtype))
            numpy.testing.assert_array_equal(b[name], wanted)

        one, two = b["emb"], b["emb"]
        self.assertEqual(one.__array_interface__["data"], two.__array_interface__["data"])
        one[2, 1] = 77
        self.assertEqual(two[2, 1], 77)
        self.assertEqual(numpy.from_dlpack(two)[2, 1], 77)
        with mock.patch.object(shufflefs.ring, "numpy", None):
            self.assertEqual((b["emb"].shape, b["emb"][2, 1]), ((4, 5), 77))
            self.assertEqual(b["is_odd"].tolist(), [False, True, False, True])

        short = ring.next(LONG)
        self.assertEqual((short.n_samples, short["jpg"].shape, short["cls"].tolist()),
                         (3, (3, 8, 8, 3), [4, 5, 6]))
        self.assertEqual(ring.tensors["jpg"].shape, (4, 8, 8, 3))
        self.assertEqual(ring.state_dict(), {"epoch": 3, "next": 7})
        self.assertIsNone(ring.next(LONG))

    @unittest.skipUnless(torch, "no torch")
    def test_torch_shares_the_memory(self):
        ring = self.attach()
        self.say("batch 4")
        b = ring.next(LONG)
        self.assertEqual(b.torch("jpg").data_ptr(), b["jpg"].__array_interface__["data"][0])
        self.assertEqual(b.torch("jpg").shape, (4, 8, 8, 3))
        b.torch("emb")[1, 2] = 5
        self.assertEqual(b["emb"][1, 2], 5)
        self.assertEqual(torch.from_dlpack(b["emb"])[1, 2], 5)
        self.assertEqual(b.torch("half").dtype, torch.bfloat16)
        self.assertEqual(b.torch("half")[:, 0].tolist(), [0, 1, 2, 3])
        self.assertEqual(b.torch("is_odd").tolist(), [False, True, False, True])
        if not hasattr(torch, "uint16"):
            self.assertRaisesRegex(TypeError, "'wide'.*no uint16", b.torch, "wide")

    @unittest.skipUnless(torch, "no torch")
    def test_the_example_trains(self):
        trainer = self.start([sys.executable, os.path.join(TOP, "examples/train-ring.py"), self.path])
        self.say("batch 4", "batch 3", "end")
        said = trainer.stdout.read()
        self.assertEqual(trainer.wait(), 0)
        self.assertRegex(said, r"^batch 0: loss \d.*\nresume at {'epoch': 3, 'next': 7}\n$")

    def test_iteration_releases_the_batch_before(self):
        ring, seen = self.attach(), []
        for _ in range(4):
            self.say("batch 2")
        for b in ring:
            if seen:
                self.assertRaisesRegex(shufflefs.RingError, "batch %d was released" % seen[-1].seq,
                                       lambda: seen[-1]["cls"])
            seen.append(b)
            if 0 < b.seq < 7:
                self.say("batch 2")  # into the slot of the batch before: 4 are all
            elif b.seq == 7:
                self.say("end")
        self.assertEqual([b.first for b in seen], list(range(0, 20, 2)))
        self.assertEqual(self.say("consumed"), "consumed 10\n")

    def test_batches_are_given_back_when_nothing_holds_them(self):
        ring = self.attach()
        self.say(*["batch 4"] * 4)
        a, b, c, d = (ring.next(LONG) for _ in range(4))
        ring.release(b)
        b.release()
        view = a["cls"]
        del a, b
        with c:
            pass
        self.assertRaises(shufflefs.RingError, c.torch, "cls")
        self.assertRaises(TimeoutError, ring.next, 0)
        self.assertEqual(view.tolist(), [0, 1, 2, 3])
        self.assertEqual(self.say("end"), "end 0\n")  # a's view holds it
        del view
        self.assertEqual(self.say("end"), "end 3\n")
        view = d["cls"]
        ring.close()
        self.assertEqual(self.say("consumed"), "consumed 4\n")
        self.assertRaises(shufflefs.RingError, lambda: d["cls"])
        self.assertRaisesRegex(shufflefs.RingError, "was closed", ring.next)
        del ring, d
        self.assertEqual(view.tolist(), [12, 13, 14, 15])  # still mapped

    def test_errors_have_sentences(self):
        with self.assertRaisesRegex(TimeoutError, "none.*there is no ring"):
            shufflefs.Ring("none", timeout=0.01)
        self.assertRaises(ValueError, shufflefs.Ring, "none", -1)
        ring = self.attach()
        with self.assertRaisesRegex(TimeoutError, "no batch came within 0.25 seconds"):
            ring.next(timeout=0.25)
        self.say("batch 4", "fail the shard train-7.tar is gone")
        self.assertEqual(ring.next(LONG).seq, 0)
        with self.assertRaisesRegex(shufflefs.RingError, "the shard train-7.tar is gone"):
            ring.next(LONG)

    def test_a_killed_producer_is_an_error(self):
        ring, errors = self.attach(), []

        def wait():
            try:
                ring.next(LONG)
            except shufflefs.RingError as error:
                errors.append(error.errno)
        threads = [threading.Thread(target=wait) for _ in range(2)]
        for thread in threads:
            thread.start()
        self.kill_producer()
        for thread in threads:
            thread.join(LONG)
        self.assertEqual(errors, [32, 32])  # EPIPE

    def test_close_ends_a_wait_in_another_thread(self):
        ring, began, errors = self.attach(), threading.Event(), []

        def wait():
            began.set()
            self.assertRaisesRegex(shufflefs.RingError, "was closed", ring.next)
            errors.append("closed")
        thread = threading.Thread(target=wait)
        thread.start()
        began.wait()
        ring.close()
        thread.join(LONG)
        self.assertEqual(errors, ["closed"])

    def test_signals_end_a_wait(self):
        for wait in ("shufflefs.Ring(sys.argv[1]).next()", "shufflefs.Ring('none')"):
            child = self.start([sys.executable, "-c", "import signal, sys, shufflefs\n"
                                "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
                                "try: print('waits', flush=True); %s\n"
                                "except KeyboardInterrupt: print('ended')" % wait, self.path])
            self.assertEqual(child.stdout.readline(), "waits\n")
            child.send_signal(signal.SIGINT)
            self.assertEqual(child.stdout.read(), "ended\n")
            self.assertEqual(child.wait(), 0)

    def test_processes_share_without_repetition(self):
        program = ("import sys, shufflefs\n"
                   "ring = shufflefs.Ring(sys.argv[1])\n"
                   "print('attached', flush=True)\n"
                   "for b in ring: print(*b['cls'], flush=True)\n")
        children = [self.start([sys.executable, "-c", program, self.path]) for _ in range(2)]
        # (One that came when the other has taken all would wait for the next ring.)
        for child in children:
            self.assertEqual(child.stdout.readline(), "attached\n")
        self.say(*["batch 4"] * 40, "end")
        lines = [child.stdout.read().split() for child in children]
        self.assertEqual([child.wait() for child in children], [0, 0])
        for line in lines:
            self.assertEqual(list(map(int, line)), sorted(map(int, line)))
        self.assertEqual(sorted(map(int, sum(lines, []))), list(range(160)))

    def test_a_forked_child_attaches_anew(self):
        ring = self.attach()
        self.say("batch 4", "batch 4")
        b = ring.next(LONG)
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                self.assertRaisesRegex(shufflefs.RingError, "fork", ring.next, LONG)
                del b, ring
                self.assertEqual(self.attach().next(LONG).seq, 1)
                status = 0
            finally:
                os._exit(status)
        self.assertEqual(os.waitpid(pid, 0)[1], 0)
        self.assertEqual(self.say("end"), "end 0\n")  # the child gave no batch of ours back
        b.release()

    def test_the_version_is_that_of_configure(self):
        with open(os.path.join(TOP, "configure.ac")) as file:
            wanted = re.search(r"AC_INIT\(\[shufflefs\], \[(.*?)\]", file.read()).group(1)
        self.assertEqual(importlib.metadata.version("shufflefs"), wanted)


class FakeMapping:
    """The memory of tests/lib/fakegpu.c, and what was asked of its streams."""
    dlpack_device = (1, 0)  # the host's, so that numpy can look at it
    n_open = 0

    def __init__(self, memory, owner):
        with open(memory.handle.rstrip(b"\0"), "r+b") as file:
            self.bytes = mmap.mmap(file.fileno(), memory.n_bytes)
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self.bytes))
        self.owner = owner
        self.log = []
        FakeMapping.n_open += 1

    def record(self, streams):
        self.log.append(("record", set(streams)))
        return set(streams)

    def wait(self, record):
        self.log.append(("wait", record))

    def __del__(self):
        FakeMapping.n_open -= 1


class Host:
    """An array of a batch, for numpy.from_dlpack() of any version."""
    def __init__(self, array, stream):
        self.array, self.stream = array, stream

    def __dlpack__(self, **unused):
        return self.array.__dlpack__(stream=self.stream)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class DeviceTest(Case):
    memory = "fakegpu:1"

    def setUp(self):
        os.environ["SHUFFLEFS_PLUGINS"] = os.path.dirname(os.path.abspath(PRODUCER))
        patch = mock.patch.dict(shufflefs.device.OPENERS, {"fakegpu": FakeMapping})
        patch.start()
        self.addCleanup(patch.stop)
        super().setUp()

    def test_values_are_exact_and_views_of_the_device(self):
        ring = self.attach()
        self.assertEqual((ring.memory.kind, ring.memory.device), ("fakegpu", "FAKE-1"))
        self.say("batch 4", "batch 3", "end")
        ring.next(LONG).release()
        b = ring.next(LONG)
        array = b["jpg"]
        self.assertEqual((array.shape, array.dtype, array.__dlpack_device__()), ((3, 8, 8, 3), "u1", (1, 0)))
        s = numpy.arange(4, 7)
        numpy.testing.assert_array_equal(
            numpy.from_dlpack(array), (s[:, None] + numpy.arange(192)).astype("u1").reshape(3, 8, 8, 3))
        for name, wanted in ("cls", s), ("emb", numpy.repeat(s, 5).reshape(3, 5)), (
                "wide", numpy.repeat(s, 2).reshape(3, 2)):
            view = numpy.from_dlpack(b[name])
            self.assertEqual(view.dtype, numpy.dtype("<" + ring.tensors[name].dtype))
            numpy.testing.assert_array_equal(view, wanted)
        self.assertFalse(hasattr(array, "__cuda_array_interface__"))
        self.assertIsNone(ring.next(LONG))

    def test_the_cuda_array_interface_is_of_version_3(self):
        ring = self.attach()
        self.say("batch 4")
        with mock.patch.object(FakeMapping, "dlpack_device", (2, 0)):
            b = ring.next(LONG)
            interface = b["emb"].__cuda_array_interface__
            self.assertEqual(interface, {
                "shape": (4, 5), "typestr": "<f4", "strides": None, "stream": None, "version": 3,
                "data": (ring._mapping.address + ring.tensors["emb"].offset, False)})
            self.assertEqual(b["jpg"].__cuda_array_interface__["typestr"], "|u1")
            self.assertFalse(hasattr(b["half"], "__cuda_array_interface__"))
            b.release()  # nobody knows on which stream it was used
        self.assertEqual(ring._mapping.log, [("record", {None}), ("wait", {None})])

    def test_release_waits_for_the_streams_that_have_it(self):
        ring = self.attach()
        self.say("batch 4", "batch 4", "batch 4", "batch 4")
        one, two, three, four = (ring.next(LONG) for _ in range(4))
        log = ring._mapping.log
        numpy.from_dlpack(Host(one._array("jpg", mock.Mock(cuda_stream=7)), 7))
        numpy.from_dlpack(Host(one["cls"], None))
        one.release()
        one.release()
        self.assertEqual(log, [("record", {7, 1}), ("wait", {7, 1})])
        numpy.from_dlpack(Host(two["jpg"], -1))
        two.release(stream=mock.Mock(cuda_stream=5))
        self.assertEqual(log[2:], [("record", {5}), ("wait", {5})])
        view = numpy.from_dlpack(Host(three._array("jpg", mock.Mock(cuda_stream=9)), 9))
        del three
        self.assertEqual(log[4:], [])  # the view has it
        del view
        self.assertEqual(log[4:], [("record", {9}), ("wait", {9})])
        ring.close()
        self.assertEqual(log[6:], [("record", {None}), ("wait", {None})])
        self.assertRaisesRegex(shufflefs.RingError, "batch 3 was released", lambda: four["cls"])
        self.assertEqual(self.say("end", "consumed"), "consumed 4\n")

    def test_a_stream_that_may_be_gone_is_not_asked(self):
        ring = self.attach()
        self.say("batch 4", "batch 4")
        one, two = ring.next(LONG), ring.next(LONG)
        numpy.from_dlpack(Host(one["jpg"], 7))  # whose it is, nobody knows
        one.release()
        self.assertEqual(ring._mapping.log, [("record", {None}), ("wait", {None})])
        stream = mock.Mock(cuda_stream=8)
        lives = weakref.ref(stream)
        numpy.from_dlpack(Host(two._array("jpg", stream), 8))
        del stream
        self.assertIsNotNone(lives())
        two.release()
        self.assertEqual(ring._mapping.log[2:], [("record", {8}), ("wait", {8})])

    def test_iteration_releases_one_batch_behind_and_never_blocks_the_producer(self):
        ring, seen, log = self.attach(), [], []
        self.say("batch 4", "batch 4")
        for b in ring:
            log = ring._mapping.log
            seen.append(b.seq)
            numpy.from_dlpack(Host(b._array("cls", mock.Mock(cuda_stream=b.seq + 10)), b.seq + 10))
            if b.seq == 1:
                self.assertEqual(log, [("record", {10})])
                self.say(*["batch 4"] * 2, "end")
            if b.seq == 2:
                self.assertEqual(log[1:], [("record", {11}), ("wait", {10})])
        self.assertEqual(seen, [0, 1, 2, 3])
        self.assertEqual(log[-1], ("wait", {13}))
        self.assertEqual(self.say("consumed"), "consumed 4\n")

    def test_the_memory_is_closed_when_nobody_has_it(self):
        before = FakeMapping.n_open
        ring = self.attach()
        self.say("batch 4")
        view = numpy.from_dlpack(ring.next(LONG)["cls"])
        ring.close()
        del ring
        self.assertEqual((FakeMapping.n_open, view.tolist()), (before + 1, [0, 1, 2, 3]))
        del view
        self.assertEqual(FakeMapping.n_open, before)

    @unittest.skipUnless(torch, "no torch")
    def test_torch_takes_it(self):
        ring = self.attach()
        self.say("batch 4")
        b = ring.next(LONG)
        self.assertEqual(b.torch("jpg").data_ptr(), ring._mapping.address + ring.tensors["jpg"].offset)
        self.assertEqual((b.torch("half").dtype, b.torch("half")[:, 0].tolist()), (torch.bfloat16, [0, 1, 2, 3]))

    def test_a_kind_that_is_unknown_is_an_error(self):
        del shufflefs.device.OPENERS["fakegpu"]
        self.assertRaisesRegex(shufflefs.RingError, "memory of kind 'fakegpu', which", self.attach)

    def test_what_cuda_lacks_is_named(self):
        shufflefs.device.OPENERS["fakegpu"] = shufflefs.cuda.IpcMapping
        try:
            shufflefs.cuda.Runtime()
        except shufflefs.RingError:
            wanted = "there is no CUDA runtime.*pip install nvidia-cuda-runtime"
        else:
            wanted = "no CUDA driver|FAKE-1, which this process does not see"
        self.assertRaisesRegex(shufflefs.RingError, wanted, self.attach)

    def test_a_killed_producer_is_an_error(self):
        ring = self.attach()
        self.say("batch 4")
        b = ring.next(LONG)
        self.kill_producer()
        with self.assertRaisesRegex(shufflefs.RingError, "producer died"):
            ring.next(LONG)
        b.release()


unittest.main(argv=sys.argv[:1], verbosity=2)
