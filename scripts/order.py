#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The order of an epoch, a second time: written from docs/ORDER.md alone.

  order.py stream FOLDER NAME [OPTIONS]      the bytes of epochs/NAME, to standard output
  order.py list FOLDER NAME [OPTIONS]        the text of epochs/NAME with .order for .tar
  order.py identity FOLDER [OPTIONS]         what user.shufflefs.order says
  order.py vectors tests/order-vectors.json  checks vectors, and the worked examples

FOLDER holds shards, *.tar; NAME is a stream, as in section 8: 0.tar, 3@100.tar,
0/rank-1-of-2.tar.  The sections below are those of docs/ORDER.md.
"""
import argparse
import json
import os
import re
import sys
from collections import namedtuple
from itertools import chain, groupby, islice
from math import isqrt
from types import SimpleNamespace

MASK = 2**64 - 1
DATALESS = b"1", b"2", b"3", b"4", b"5", b"6"
REGULAR = (b"0", b"\0", b"7", b"S")
EQUAL = ("none", "drop", "pad")
NAMES = (b"GNU.sparse.name", b"path")  # the first one counts
Extension = namedtuple("Extension", "type at data")  # of the header behind it; at: offset of its own
Member = namedtuple("Member", "begin at end key extensions")


# Section 2: random numbers

def mix(z):
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9 & MASK
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb & MASK
    return z ^ (z >> 31)


class Generator:
    GOLDEN = 0x9e3779b97f4a7c15

    def __init__(self, *words):
        self.state = 0
        for word in words:
            self.state = mix((self.state ^ word) + self.GOLDEN & MASK)

    def next(self):
        self.state = self.state + self.GOLDEN & MASK
        return mix(self.state)

    def below(self, n):
        m = self.next() * n
        while (m & MASK) < (2**64 - n) % n:  # (which is less than n)
            m = self.next() * n
        return m >> 64

    def shuffle(self, items):
        items = list(items)
        for i in range(len(items) - 1, 0, -1):
            j = self.below(i + 1)
            items[i], items[j] = items[j], items[i]
        return items


# Sections 3 to 5: from the shards, which are lists of samples, to the epoch

def equal_lanes(s):
    return s.segment != "shard" or s.equal != "none"


def permutation(n, s):
    return Generator(s.seed, s.epoch, 0, 0, 1).shuffle(range(n))


def segments_of(shard, segment):
    if segment == "shard":
        return [shard]
    return [list(run) for _, run in groupby(shard, lambda sample: sample.begin // segment)]


def turned(row, s):
    turn = Generator(s.seed, s.epoch, 0, 0, 4).below(len(row)) if row else 0
    return row[turn:] + row[:turn]


def grid(count, s):
    """F of single samples: a permutation of count numbers, by a function."""
    rows = isqrt(count - 1) + 1
    columns, rounds = (count + rows - 1) // rows, 6 if count >= 4096 else 12
    states = [Generator(s.seed, s.epoch, 0, i, 5).state for i in range(rounds)]

    def added(i, y, n):
        return mix(states[i] + (y + 1) * Generator.GOLDEN & MASK) * n >> 64

    def permuted(x):
        row, column = divmod(x, columns)
        for i in range(0, rounds, 2):
            row = (row + added(i, column, rows)) % rows
            column = (column + added(i + 1, row, columns)) % columns
        x = row * columns + column
        return x if x < count else permuted(x)
    return permuted


def lanes_of(shards, s):
    """The samples of each lane in use, one segment after the other."""
    if not equal_lanes(s):
        p, in_use = permutation(len(shards), s), min(s.lanes, len(shards))
        return [list(chain.from_iterable(shards[i] for i in p[lane::in_use])) for lane in range(in_use)]
    if s.segment == "sample":
        row = list(chain.from_iterable(shards))
        row = [row[i] for i in map(grid(len(row), s), range(len(row)))] if row else []
        return [row[lane::s.lanes] for lane in range(min(s.lanes, len(row)))]
    segments = [segment for shard in shards for segment in segments_of(shard, s.segment)]
    row = turned(list(chain.from_iterable(segments[i] for i in permutation(len(segments), s))), s)
    (each, more), rest = divmod(len(row), s.lanes), iter(row)
    return [list(islice(rest, each + (lane < more))) for lane in range(min(s.lanes, len(row)))]


def piece_bytes(in_use, s):
    return max(512, s.buffer // in_use)


def piece_end(k, c):
    return c >> (4 - k) if k < 5 else (k - 3) * c


def shuffled_block(lane, k, samples, s):
    return Generator(s.seed, s.epoch, lane, k, 2).shuffle(samples)


def lane_blocks(lane, samples, c, s):
    """The blocks of a lane, shuffled, by the numbers of their pieces; and "first" and "last", of equal lanes."""
    if s.segment == "sample":
        return {i: [sample] for i, sample in enumerate(samples)}
    blocks, place, alone = {}, 0, {len(samples) - 1: "last", 0: "first"} if equal_lanes(s) else {}
    for i, sample in enumerate(samples):
        k = 0 if place < c else place // c + 4
        while place >= piece_end(k, c):
            k += 1
        blocks.setdefault(alone.get(i, k), []).append(sample)
        place += sample.end - sample.begin
    return {k: shuffled_block(lane, k, block, s) if len(block) > 1 else block for k, block in blocks.items()}


def epoch_order(shards, s):
    """The samples in the epoch's order, each with its lane."""
    lanes, order = lanes_of(shards, s), []
    for lane, samples in enumerate(lanes):
        blocks = lane_blocks(lane, samples, piece_bytes(len(lanes), s), s)
        order += [(j, lane, sample) for j, sample in enumerate(chain.from_iterable(blocks.values()))]
    return [(lane, sample) for j, lane, sample in sorted(order, key=lambda o: o[:2])]


# Section 6: samples and extents

def padded(size):
    return (size + 511) // 512 * 512


def text(field):
    return field.split(b"\0")[0]


def number(field):
    return int.from_bytes(field[1:], "big") if field[0] == 128 else int(text(field) or b"0", 8)


def checksum(header):
    return sum(header) - sum(header[148:156]) + 8 * ord(" ")


def records(data):
    """The records of a pax extension: each as keyword, value, and all its bytes."""
    while text(data):
        length = int(data.split(b" ")[0])
        keyword, value = data[data.index(b" ") + 1:length - 1].split(b"=", 1)
        yield keyword, value, data[:length]
        data = data[length:]


def prefix_of(header):
    return text(header[345:500]) if header[257:262] == b"ustar" and header[257:265] != b"ustar  \0" else b""


def name_of(header, extensions):
    values = {keyword: value for e in extensions if e.type == b"x" for keyword, value, _ in records(e.data)}
    for keyword in NAMES:
        if keyword in values:
            return values[keyword]
    for e in extensions:
        if e.type == b"L":
            return text(e.data)
    return prefix_of(header) + b"/" * bool(prefix_of(header)) + text(header[:100])


def key_of(name, type):
    match = re.match(rb"^((?:.*/|)[^.]+)[.]([^/]*)$", name)
    if re.match(rb"__[^/]*__($|/)", name) or type not in REGULAR:
        return None
    if b"/" not in name and name.startswith(b"__") and name.endswith(b"__"):
        return None
    return match and match[1]


class Damage(ValueError):
    """Of a shard, at a byte.  next_key: of the member that is there; None if it has none, or nobody can
    know; b"" if there is no member."""

    def __init__(self, what, at, next_key=None):
        super().__init__("%s at byte %d" % (what, at))
        self.next_key = next_key


def header_at(tar, at):
    """None: the end of the archive."""
    header = tar[at:at + 512]
    if len(header) < 512:
        raise Damage("cut off", at, None if any(header) else b"")
    if not any(header):
        behind = next((i for i in range(at, len(tar)) if tar[i]), None)
        if behind is not None:
            raise Damage("data behind the end", behind, None if behind < at + 1024 else b"")
        return None
    if not re.match(rb" *[0-7]+([ \0]|\Z)", header[148:156]) or number(header[148:156]) != checksum(header):
        raise Damage("no header", at)
    return header


def walk(tar):
    """The members of a shard.  Pax global headers are among the extensions of the next."""
    at, begin, extensions = 0, 0, []  # begin: of the next member
    while True:
        try:
            header = header_at(tar, at)
        except Damage as damage:
            raise damage if begin == at else Damage("an extension without its member", begin)
        if header is None and begin == at:
            return
        type, own, at = header and header[156:157], at, at + 512
        if type is None or type == b"g" and begin < own:
            raise Damage("an extension without its member", begin)
        size = number(header[124:136])
        if type in (b"g", b"x", b"X", b"L", b"K"):
            extensions.append(Extension(b"x" if type == b"X" else type, own, tar[at:at + size]))
            at += padded(size)
            if at > len(tar):
                raise Damage("an extension that is cut off", begin)
            begin = at if type == b"g" else begin
            continue
        more = type == b"S" and header[482]  # a sparse file's map goes on behind its header
        while more:
            more, at = at + 512 <= len(tar) and tar[at + 504], at + 512
        for extension in extensions:
            for keyword, value, _ in records(extension.data if extension.type == b"x" else b""):
                size = int(value) if keyword == b"size" else size
        at += padded(size) if type not in DATALESS else 0
        key = key_of(name_of(header, extensions), type)
        if at > len(tar):
            raise Damage("a member that is cut off", begin, key)
        yield Member(begin, own, at, key, extensions)
        extensions, begin = [], at


def read_shard(path, skips_damage=False):
    with open(path, "rb") as file:
        tar = file.read()
    samples, waiting = [], []
    try:
        for member in walk(tar):
            waiting.append(member)
            if member.key is None:
                continue
            if not samples or samples[-1].key != member.key:
                samples.append(SimpleNamespace(tar=tar, shard=os.path.basename(path), members=[],
                                               key=member.key, begin=member.begin))
                waiting = [member]
            samples[-1].members += waiting  # with those without a key that lie between
            samples[-1].end = member.end
            waiting = []
    except Damage as damage:
        if not skips_damage:
            raise
        if samples and damage.next_key in (None, samples[-1].key):
            samples.pop()  # there may have been more of it
    return samples, padded(len(tar))


# Section 7: bytes

def fnv1a(key):
    state = 0xcbf29ce484222325
    for byte in reversed(key):
        state = (state ^ byte) * 0x100000001b3 & MASK
    return state


def folder_of(sample):
    name = sample.shard
    return (b"./" if name.startswith(b"__") else b"") + name.removesuffix(b".tar")


def rename_all(order):
    """Set each sample's folder, which is empty if its stream key is its own."""
    before = None
    for sample in order:
        own = fnv1a(sample.key)
        sample.folder = folder_of(sample) + b"/" if own == before else b""
        before = fnv1a(sample.folder + sample.key)


def changed(header, at, field):
    header = header[:at] + field + header[at + len(field):]
    return header[:148] + b"%06o\0 " % checksum(header) + header[156:]


def record(keyword, value):
    length = len(b" %s=%s\n" % (keyword, value))
    while len(b"%d %s=%s\n" % (length, keyword, value)) > length:
        length += 1
    return b"%d %s=%s\n" % (length, keyword, value)


def renamed(tar, member, folder):
    """What a member's new name changes: the offset, and the bytes from there."""
    naming = [e for e in member.extensions if e.type == b"L" or e.type == b"x" and any(
        keyword in NAMES for keyword, _, _ in records(e.data))]
    if not naming:
        header = tar[member.at:member.at + 512]
        prefix = folder + prefix_of(header) if prefix_of(header) else folder[:-1]
        header = changed(header, 257, b"ustar\00000")
        if len(prefix) > 155:
            raise ValueError("no room for the name of the member at byte %d" % member.at)
        return member.at, changed(header, 345, prefix.ljust(512 - 345, b"\0"))
    at, old = naming[0].at, naming[0].data
    new = folder + old if naming[0].type == b"L" else b"".join(
        record(keyword, folder + value) if keyword in NAMES else whole
        for keyword, value, whole in records(old))
    if len(naming) > 1 or len(new) > padded(len(old)):
        raise ValueError("no room for the name of the member at byte %d" % member.at)
    header = changed(tar[at:at + 512], 124, b"%011o\0" % len(new))
    return at, header + new.ljust(padded(len(old)), b"\0")


def blanked(size):
    start = b"%d %s=" % (size, b"comment" if size >= 16 else b"c")
    return start.ljust(size - 1) + b"\n" if size else b""


def rendered(sample):
    extent = bytearray(sample.tar[sample.begin:sample.end].ljust(sample.end - sample.begin, b"\0"))

    def put(at, data):
        extent[at - sample.begin:at - sample.begin + len(data)] = data

    for member in sample.members:
        if sample.folder and member.key is not None:
            put(*renamed(sample.tar, member, sample.folder))
        for e in member.extensions:
            if e.type == b"g" and e.at >= sample.begin:
                put(e.at + 512, blanked(len(e.data)))
    return extent


# Section 8: parts of an epoch

def parse_name(name):
    n = "(0|[1-9][0-9]*)"
    match = re.fullmatch(n + "(?:/rank-%s-of-%s(?:/worker-%s-of-%s)?)?(?:@%s)?[.]tar" % (5 * (n,)), name)
    if not match:
        raise ValueError("'%s' names no stream" % name)
    epoch, r, w, i, n, first = [g and int(g) for g in match.groups()]
    return epoch, (r, w, i or 0, 1 if n is None else n) if r is not None else None, first


def lanes_of_part(part, s):
    """Which lanes a part has: None is the whole epoch, else (rank, world, worker, workers)."""
    r, w, i, n = part or (0, 1, 0, 1)
    if w == 0 or s.lanes % w or r >= w or i >= n:
        raise ValueError("%d lanes have no such part" % s.lanes)
    return lambda lane: lane % w == r and lane // w % n == i


def part_order(shards, s, part=None, order=None):
    """The samples of a part, from the whole epoch's order if that is at hand."""
    mine, order, ends = lanes_of_part(part, s), order or epoch_order(shards, s), len(shards)
    if equal_lanes(s):
        n, w = len(order), part[1] if part else 1
        ends = {"none": n, "drop": n // w * w, "pad": (n + w - 1) // w * w}[s.equal]
        order = [(p % s.lanes, order[p % n][1]) for p in range(ends)]
    if part and part[0] >= min(s.lanes, ends):
        raise ValueError("rank %d has no sample" % part[0])
    return [sample for lane, sample in order if mine(lane)]


def escaped(field):
    for byte, letter in (b"\\", b"\\"), (b"\t", b"t"), (b"\n", b"n"), (b"\r", b"r"):
        field = field.replace(byte, b"\\" + letter)
    return field


# Section 9: the identity of an order

def identity(shards, s):
    segment = {"shard": 0, "sample": 1}.get(s.segment, s.segment)
    words = [1, s.seed, s.lanes, s.buffer, ["auto", "asis", "unique"].index(s.keys)]
    if equal_lanes(s):
        words = [2, *words[1:], segment, EQUAL.index(s.equal)]
    words.append(len(shards))
    for name, size in shards:
        words += [fnv1a(name), size]
    return "%016x" % Generator(*words).state


# Sections 10 and 11: the worked examples and the vectors

def agree(what, ours, theirs):
    if ours != theirs:
        raise ValueError("%s: %s here, %s there" % (what, ours, theirs))


def check_dealt(v, what):
    s = SimpleNamespace(**v, segment="shard", equal="none")
    lanes = len(lanes_of([[]] * s.shards, s))
    c = piece_bytes(lanes, s)
    agree(what + "lanes_in_use", lanes, s.lanes_in_use)
    agree(what + "C", c, s.C)
    agree(what + "P", permutation(s.shards, s), s.P)
    agree(what + "piece_ends", [piece_end(k, c) for k in range(len(s.piece_ends))], s.piece_ends)
    for b in s.blocks:
        order = shuffled_block(b["lane"], b["piece"], range(len(b["order"])), s)
        agree(what + "lane %(lane)d, piece %(piece)d" % b, order, b["order"])


def check_equal(v, what):
    s = SimpleNamespace(**v)
    s.segment, s.equal = {0: "shard", 1: "sample"}.get(s.segment, s.segment), EQUAL[s.equal]
    shards = [[SimpleNamespace(begin=start, end=start + length, at=[shard, i])
               for i, (start, length) in enumerate(extents)] for shard, extents in enumerate(s.extents)]
    lanes = lanes_of(shards, s)
    if s.segment != "sample":
        agree(what + "P", permutation(sum(len(segments_of(shard, s.segment)) for shard in shards), s), s.P)
    agree(what + "lanes_in_use", len(lanes), s.lanes_in_use)
    agree(what + "C", piece_bytes(len(lanes), s), s.C)
    agree(what + "order", [sample.at for sample in part_order(shards, s)], s.order)
    for part in s.parts:
        order = part_order(shards, s, (part["rank"], part["of"], part["worker"], part["workers"]))
        agree(what + "rank %(rank)d of %(of)d, worker %(worker)d of %(workers)d" % part,
              [sample.at for sample in order], part["order"])
    for rank, world in s.refused:
        try:
            part_order(shards, s, (rank, world, 0, 1))
        except ValueError:
            continue
        raise ValueError("%srank %d of %d is not refused" % (what, rank, world))


def check_examples():
    def names(samples):
        return " ".join(sample.name for sample in samples)

    def blocks(lane, samples, c):
        return {k: names(block) for k, block in lane_blocks(lane, samples, c, s).items()}

    s = SimpleNamespace(seed=0, epoch=0, lanes=2, buffer=8192, segment="shard", equal="none")
    generator = Generator(s.seed, s.epoch, 0, 0, 1)
    agree("example: state", "%016x" % generator.state, "a5d3758b95b92366")
    agree("example: first number", "%016x" % generator.next(), "6ae50bb70340ca91")
    agree("example: P", permutation(3, s), [0, 2, 1])
    shards = [[SimpleNamespace(name=shard + str(i), begin=1024 * i, end=1024 * i + 1024)
               for i in range(4)] for shard in "ABC"]
    lanes, c = lanes_of(shards, s), piece_bytes(2, s)
    agree("example: lanes", [names(lane) for lane in lanes], ["A0 A1 A2 A3 B0 B1 B2 B3", "C0 C1 C2 C3"])
    agree("example: pieces", [piece_end(k, c) for k in range(6)], [256, 512, 1024, 2048, 4096, 8192])
    agree("example: lane 0", blocks(0, lanes[0], c), {0: "A0", 3: "A1", 4: "A2 A3", 5: "B0 B2 B1 B3"})
    agree("example: lane 1", blocks(1, lanes[1], c), {0: "C0", 3: "C1", 4: "C3 C2"})
    agree("example: epoch", names(part_order(shards, s)), "A0 C0 A1 C1 A2 C3 A3 C2 B0 B2 B1 B3")

    s.segment = 3072
    del shards[2][3]
    agree("2nd example: segments", [names(segment) for shard in shards for segment in segments_of(shard, 3072)],
          ["A0 A1 A2", "A3", "B0 B1 B2", "B3", "C0 C1 C2"])
    agree("2nd example: P", permutation(5, s), [1, 0, 4, 3, 2])
    lanes, c = lanes_of(shards, s), piece_bytes(2, s)
    agree("2nd example: lanes", [names(lane) for lane in lanes], ["A0 A1 A2 C0 C1 C2", "B3 B0 B1 B2 A3"])
    agree("2nd example: lane 0", blocks(0, lanes[0], c), {"first": "A0", 3: "A1", 4: "A2 C0", 5: "C1", "last": "C2"})
    agree("2nd example: lane 1", blocks(1, lanes[1], c), {"first": "B3", 3: "B0", 4: "B2 B1", "last": "A3"})
    agree("2nd example: epoch", names(part_order(shards, s)), "A0 B3 A1 B0 A2 B2 C0 B1 C1 A3 C2")
    ranks = {"none": ["A0 A1 A2 C0 C1 C2", "B3 B0 B2 B1 A3"], "drop": ["A0 A1 A2 C0 C1", "B3 B0 B2 B1 A3"],
             "pad": ["A0 A1 A2 C0 C1 C2", "B3 B0 B2 B1 A3 A0"]}
    for s.equal in EQUAL:
        agree("2nd example: equal=" + s.equal, [names(part_order(shards, s, (rank, 2, 0, 1)))
                                                for rank in (0, 1)], ranks[s.equal])


def check_vectors(path):
    with open(path) as file:
        vectors = json.load(file)
    for i, v in enumerate(vectors):
        (check_equal if "extents" in v else check_dealt)(v, "vector %d: " % i)
    check_examples()
    print("%d vectors agree" % len(vectors))


def size_of(text):
    unit = " KMGT".find(text[-1:], 1)
    return int(text[:-1]) << 10 * unit if unit > 0 else int(text)


def segment_of(text):
    size = text if text in ("shard", "sample") else size_of(text)
    if isinstance(size, int) and size < 512:
        raise ValueError
    return size


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("command", choices=["stream", "list", "identity", "vectors"])
    parser.add_argument("path")
    parser.add_argument("name", nargs="?", default="0.tar")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lanes", type=int, default=384)
    parser.add_argument("--buffer", type=size_of, default=67108864)
    parser.add_argument("--segment", type=segment_of, default="shard", metavar="shard|SIZE|sample")
    parser.add_argument("--equal", choices=EQUAL, default="none")
    parser.add_argument("--on-error", choices=["fail", "skip"], default="fail")
    parser.add_argument("--keys", choices=["auto", "asis", "unique"], default="auto")
    args = parser.parse_args()
    if args.command == "vectors":
        return check_vectors(args.path)
    names = sorted(n for n in os.listdir(os.fsencode(args.path)) if n.endswith(b".tar") and n[:1] != b".")
    if args.command == "identity":
        folder = os.fsencode(args.path)
        return print(identity([(n, os.path.getsize(os.path.join(folder, n))) for n in names], args))
    args.epoch, part, first = parse_name(args.name)
    shards, sizes = zip(*[read_shard(os.path.join(os.fsencode(args.path), name), args.on_error == "skip")
                           for name in names])
    order = part_order(shards, args, part)
    for s in order: s.folder = b""
    if args.keys == "auto":
        rename_all(order)
    elif args.keys == "unique":
        for s in order: s.folder = folder_of(s) + b"/"
    out, offset = sys.stdout.buffer, 0
    for i, s in enumerate(order[first or 0:]):
        length = s.end - s.begin
        if args.command == "list":
            out.write(b"%d\t%d\t%d\t%s\t%s\n" % (i, offset, length, escaped(s.shard), escaped(s.key)))
        else:
            out.write(rendered(s))
        offset += length
    if args.command == "stream":
        if first is None and not equal_lanes(args):  # as long as the shards
            mine, in_use = lanes_of_part(part, args), min(args.lanes, len(shards))
            p = permutation(len(shards), args)
            out.write(bytes(sum(sizes[p[i]] for i in range(len(p)) if mine(i % in_use)) - offset))
        out.write(bytes(1024))


if __name__ == "__main__":
    try:
        main()
    except ValueError as error:
        sys.exit("order.py: %s" % error)
