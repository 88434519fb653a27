#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Does scripts/order.py compute the published vectors, and the worked examples of docs/ORDER.md?

  order-vectors.py [FILE...]    by default tests/order-vectors*.json
  order-vectors.py --with SHUFFLEFS FILE...    streams of tars, as shufflefs reads them
  order-vectors.py --make FILE...    write what it computes, from the inputs in FILE
"""
import base64
import glob
import hashlib
import io
import json
import os
import subprocess
import sys
import tempfile
import zlib
from types import SimpleNamespace

sys.dont_write_bytecode = True
tests = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(tests, "..", "scripts"))
import order as script  # noqa: E402

OPTIONS = {"seed": 0, "lanes": 384, "buffer": 2**26, "segment": "shard", "equal": "none", "keys": "auto",
           "on_error": "fail"}
SEGMENTS = "shard", "sample", "random"  # as words of section 9


def dealt(v):
    """Of dealt lanes: the permutation, times and blocks; sizes are all that is known of shards."""
    s, w = SimpleNamespace(**v, segment="shard", equal="none"), dict(v)
    in_use = min(s.lanes, s.shards)
    c, p = script.piece_bytes(in_use, s), script.permutation(s.shards, s)
    z = [sum(script.padded(s.sizes[i]) for i in p[lane::in_use]) for lane in range(in_use)]
    w["lanes_in_use"], w["C"], w["P"] = in_use, c, p
    w["half"] = [script.half_time(lane, s) for lane in range(in_use)]
    w["times"] = [dict(t, time=script.time_of(t["V"], z[t["lane"]], w["half"][t["lane"]])) for t in s.times]
    w["piece_ends"] = [script.piece_end(k, c) for k in range(len(s.piece_ends))]
    w["blocks"] = [dict(b, order=script.shuffled_block(b["lane"], b["piece"], range(len(b["order"])), s))
                   for b in s.blocks]
    return w


def epoch(v):
    """An epoch and its parts, of shards that are lists of extents."""
    s, w = SimpleNamespace(**v), dict(v)
    s.segment, s.equal = dict(enumerate(SEGMENTS)).get(s.segment, s.segment), script.EQUAL[s.equal]
    sizes = v.get("sizes", [0] * len(s.extents))
    shards = [SimpleNamespace(size=size, samples=[
        SimpleNamespace(begin=start, end=start + length, at=[k, i]) for i, (start, length) in enumerate(extents)])
        for k, (extents, size) in enumerate(zip(s.extents, sizes))]
    w.update(outline(shards, s))
    w["order"] = [sample.at for sample in script.part_order(shards, s)]
    w["parts"] = [dict(p, order=[sample.at for sample in script.part_order(shards, s, (
        p["rank"], p["of"], p["worker"], p["workers"]))]) for p in s.parts]
    w["refused"] = [pair for pair in s.refused if is_refused(shards, s, *pair)]
    return w


def outline(shards, s):
    if s.segment == "sample":  # without a list
        lanes, n = range(min(s.lanes, sum(len(shard.samples) for shard in shards))), 0
    elif script.has_equal_lanes(s):
        lanes = list(script.equal_lanes(shards, s))
        n = len(script.all_segments(shards, s))
    else:
        lanes, n = list(script.dealt_lanes(shards, s)), len(script.dealt_segments(shards, s))
    return {"lanes_in_use": len(lanes), "C": script.piece_bytes(max(1, len(lanes)), s), "P": script.permutation(n, s)}


def is_refused(shards, s, rank, world):
    try:
        script.part_order(shards, s, (rank, world, 0, 1))
    except ValueError:
        return True
    return False


def stream(v):
    """A stream of shards: as text, and the hash of its bytes; or why there is none."""
    s, w = SimpleNamespace(**dict(OPTIONS, **v["options"])), dict(v)
    w["identity"] = script.identity([(os.fsencode(name), 0 if tar is None else len(unpacked(tar)))
                                     for name, tar in v["shards"]], s)
    for result in "list", "stream":
        s.command = result
        w.pop(result, None)
        try:
            w[result] = shown(result, read(v, s))
        except ValueError as error:
            w[result] = "error: %s" % error
    return w


def unpacked(tar):
    return zlib.decompress(base64.b64decode(tar))


def read(v, s):
    s.epoch, part, first = script.parse_name(v["name"])
    shards = [script.Record(name=os.fsencode(name), size=0, samples=[]) if tar is None else
              script.shard_of(os.fsencode(name), unpacked(tar), s.on_error == "skip") for name, tar in v["shards"]]
    out = io.BytesIO()
    script.write_stream(shards, s, part, first, out)
    return out.getvalue()


def by_program(v, program):
    """The same, of shufflefs: it is enough that it is an error."""
    w, options = dict(v), dict({"segment": OPTIONS["segment"]}, **v["options"], **{"index-cache": "no"})
    options = ",".join("%s=%s" % (key.replace("_", "-"), value) for key, value in options.items())
    with tempfile.TemporaryDirectory() as folder:
        for name, tar in v["shards"]:
            os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True)
            if tar is not None:
                with open(os.path.join(folder, name), "wb") as file:
                    file.write(unpacked(tar))
        names = ",".join(name for name, _ in v["shards"])
        source = os.path.join(folder, "{%s}" % names if "," in names else names)
        for result, suffix in ("list", ".order"), ("stream", ".tar"):
            run = subprocess.run([program, "cat", "-o", options, source, "epochs/" + v["name"][:-4] + suffix],
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            if run.returncode == 0 or not str(v[result]).startswith("error"):
                w[result] = shown(result, run.stdout) if run.returncode == 0 else "error: %s" % run.stderr
    return w


def shown(result, data):
    return os.fsdecode(data).splitlines() if result == "list" else "%d bytes, SHA-256 %s" % (
        len(data), hashlib.sha256(data).hexdigest())


def compute(v):
    return (stream if "shards" in v and "name" in v else epoch if "extents" in v else dealt)(v)


def check(path, compute=compute):
    with open(path) as file:
        vectors = json.load(file)
    for i, v in enumerate(vectors):
        w = compute(v)
        for field in v:
            if v[field] != w[field]:
                sys.exit("order-vectors: %s, vector %d, %s: %s here, %s there" % (
                    path, i, field, w[field], v[field]))
    print("%d vectors of %s agree" % (len(vectors), os.path.basename(path)))


def make(path):
    """Write the vectors as people may read them: short lists in a line."""
    def written(value, indent):
        line = json.dumps(value)
        if len(line) + indent < 110 or not isinstance(value, (list, dict)) or not value:
            return line
        pairs = value.items() if isinstance(value, dict) else [(None, item) for item in value]
        items = [("" if key is None else json.dumps(key) + ": ") + written(item, indent + 1) for key, item in pairs]
        rows = [items[0]]
        for item in items[1:]:
            if len(rows[-1]) + len(item) + indent < 108 and "\n" not in rows[-1] + item:
                rows[-1] += ", " + item
            else:
                rows.append(item)
        begin, end = "{}" if isinstance(value, dict) else "[]"
        return begin + (",\n" + " " * (indent + 1)).join(rows) + end

    with open(path) as file:
        vectors = [compute(v) for v in json.load(file)]
    with open(path, "w") as file:
        file.write("[\n " + ",\n ".join(written(v, 1) for v in vectors) + "\n]\n")


def agree(what, ours, theirs):
    if ours != theirs:
        sys.exit("order-vectors: example, %s: %s here, %s there" % (what, ours, theirs))


def check_examples():
    def names(samples):
        return " ".join(sample.name for sample in samples)

    agree("hash", "%016x" % script.fnv1a(b"ab"), "08a63307b54dd00c")
    s = SimpleNamespace(seed=0, epoch=0, lanes=2, buffer=8192, segment="shard", equal="none")
    generator = script.Generator(s.seed, s.epoch, 0, 0, 1)
    agree("state", "%016x" % generator.state, "a5d3758b95b92366")
    agree("first number", "%016x" % generator.next(), "6ae50bb70340ca91")
    agree("P", script.permutation(3, s), [0, 2, 1])
    shards = [SimpleNamespace(size=5120, samples=[
        SimpleNamespace(name=shard + str(i), begin=1024 * i, end=1024 * i + 1024) for i in range(4)])
        for shard in "ABC"]
    lanes = list(script.dealt_lanes(shards, s))
    agree("pieces", [script.piece_end(k, 4096) for k in range(6)], [256, 512, 1024, 2048, 4096, 8192])
    agree("places", lanes[0][1], [0, 1024, 2048, 3072, 5120, 6144, 7168, 8192])
    agree("h", [script.half_time(lane, s) for lane in (0, 1)], [2389133549, 2720092644])
    agree("times", [times for _, _, times in lanes], [
        [0, 159275569, 477826709, 955653419, 2389133549, 2516189132, 2770300298, 3151467047],
        [0, 362679019, 1088037057, 2176074115]])
    agree("lane 0", names(script.leaving(0, lanes[0][0], lanes[0][1], 4096, s)), "A0 A1 A2 A3 B0 B1 B2 B3")
    agree("lane 1", names(script.leaving(1, lanes[1][0], lanes[1][1], 4096, s)), "C0 C1 C3 C2")
    agree("epoch", names(script.part_order(shards, s)), "A0 C0 A1 C1 A2 A3 C3 C2 B0 B1 B2 B3")

    s.segment = 3072
    del shards[2].samples[3]
    agree("segments", [names(segment) for shard in shards for segment in script.segments_of(shard, 3072)],
          ["A0 A1 A2", "A3", "B0 B1 B2", "B3", "C0 C1 C2"])
    agree("P of segments", script.permutation(5, s), [1, 0, 4, 3, 2])
    agree("equal lanes", [names(lane) for lane, _, _ in script.equal_lanes(shards, s)],
          ["A0 A1 A2 C0 C1 C2", "B3 B0 B1 B2 A3"])
    agree("epoch of equal lanes", names(script.part_order(shards, s)), "A0 B3 A1 B0 A2 B2 C0 B1 C1 A3 C2")
    ranks = {"none": ["A0 A1 A2 C0 C1 C2", "B3 B0 B2 B1 A3"], "drop": ["A0 A1 A2 C0 C1", "B3 B0 B2 B1 A3"],
             "pad": ["A0 A1 A2 C0 C1 C2", "B3 B0 B2 B1 A3 A0"]}
    for s.equal in script.EQUAL:
        agree("equal=" + s.equal, [names(script.part_order(shards, s, (rank, 2, 0, 1))) for rank in (0, 1)],
              ranks[s.equal])

    s.segment, s.equal = "sample", "none"
    agree("grid", [script.grid(11, s)(p) for p in range(11)], [0, 7, 8, 2, 10, 3, 4, 9, 5, 6, 1])
    agree("epoch of single samples", names(script.part_order(shards, s)), "A0 B3 C0 A2 C2 A3 B0 C1 B1 B2 A1")

    s.segment = "random"
    shards = [SimpleNamespace(size=size, name=shard, samples=[
        SimpleNamespace(name=shard + str(i), begin=32768 * i, end=32768 * i + 32768) for i in range(n)])
        for shard, n, size in (("A", 4, 132096), ("B", 2, 66560))]
    agree("cuts", list(script.cuts(198656, s)), [25088, 88576, 155648, 198656])
    agree("segments", [[(shard.name, begin, end) for shard, begin, end in segment]
                       for segment in script.dealt_segments(shards, s)],
          [[("A", 25088, 88576)], [("A", 88576, 132096), ("B", 0, 23552)], [("B", 23552, 66560)], [("A", 0, 25088)]])
    lanes = list(script.dealt_lanes(shards, s))
    agree("places of stretches", [places for _, places, _ in lanes], [[7680, 40448, 72704], [0, 34816, 68608]])
    agree("times of stretches", [times for _, _, times in lanes], [
        [0, 604940866, 2755640038], [0, 1480939328, 3490031362]])
    agree("epoch of random segments", names(script.part_order(shards, s)), "A1 A0 A2 A3 B1 B0")
    agree("files of ranks", [script.file_bytes(shards, s, (rank, 2, 0, 1)) for rank in (0, 1)], [99328, 99328])


def main():
    files = sys.argv[1:] or sorted(glob.glob(os.path.join(tests, "data", "order-vectors*.json")))
    if files[0] == "--make":
        return [make(file) for file in files[1:]]
    if files[0] == "--with":
        return [check(file, lambda v: by_program(v, files[1])) for file in files[2:]]
    for file in files:
        check(file)
    check_examples()


main()
