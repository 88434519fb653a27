#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The order of an epoch, third edition: written from docs/ORDER.md alone, section by section.

  order.py stream FOLDER NAME [OPTIONS]    the bytes of epochs/NAME, to standard output
  order.py list FOLDER NAME [OPTIONS]      the text of epochs/NAME with .order for .tar
  order.py identity FOLDER [OPTIONS]       what user.shufflefs.order says

The shards are the *.tar in FOLDER, or the paths in it that --shards lists.  NAME is a stream, as
in section 8: 0.tar, 3@100.tar, 0/rank-1-of-2.tar.  Shards and their bytes, sections 6 and 7, are in
order_tar.py.  tests/lib/order-vectors.py checks the published vectors.
"""
import argparse
import os
import re
import sys
from itertools import accumulate, chain, groupby, islice
from math import isqrt

sys.dont_write_bytecode = True
from order_tar import Damage, Record, bytes_of, fnv1a, padded, rename_all, shard_of  # noqa: E402

MASK = 2**64 - 1
KEYS, EQUAL = ("auto", "asis", "unique"), ("none", "drop", "pad")
SEGMENTS = "shard", "random", "sample"


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


# Sections 3 to 5: shards, which have a size and samples, to segments, lanes, blocks and the epoch

def has_equal_lanes(s):
    return s.segment not in ("shard", "random") or s.equal != "none"


def permutation(n, s):
    return Generator(s.seed, s.epoch, 0, 0, 1).shuffle(range(n))


def cuts(total, s):
    step = padded(max(2**16, (total + 999) // 1000))
    for i in range(total // step + 1):
        yield min(total, i * step + 512 * Generator(s.seed, s.epoch, i, 0, 7).below(step // 512))


def stretches_between(shards, begin, end):
    """Bytes of all shards, end to end: each shard that has some of them, and from where to where."""
    at = 0
    for shard in shards:
        size = padded(shard.size)
        here = max(0, begin - at), min(size, end - at)
        if here[0] < here[1]:
            yield shard, *here
        at += size


def dealt_segments(shards, s):
    """Each is a list of stretches: a shard, and the bytes of it where the stretch begins and ends."""
    if s.segment == "shard":
        return [[(shard, 0, padded(shard.size))] for shard in shards]
    total = sum(padded(shard.size) for shard in shards)
    edges = list(cuts(total, s))
    segments = [list(stretches_between(shards, *edge)) for edge in zip(edges, edges[1:] + [total])]
    segments[-1] += stretches_between(shards, 0, edges[0])
    return segments


def samples_in(shard, begin, end):
    return [sample for sample in shard.samples if begin <= sample.begin < end]


def segments_of(shard, segment):
    if segment == "shard":
        return [shard.samples]
    return [list(run) for _, run in groupby(shard.samples, lambda sample: sample.begin // segment)]


def all_segments(shards, s):
    if s.segment == "random":
        return [[sample for stretch in segment for sample in samples_in(*stretch)]
                for segment in dealt_segments(shards, s)]
    return [segment for shard in shards for segment in segments_of(shard, s.segment)]


def equal_lanes(shards, s):
    """Of each lane in use: its samples, their places, and their rounds."""
    segments = all_segments(shards, s)
    row = list(chain.from_iterable(segments[i] for i in permutation(len(segments), s)))
    r = Generator(s.seed, s.epoch, 0, 0, 4).below(len(row)) if row else 0
    row, (each, more) = iter(row[r:] + row[:r]), divmod(len(row), s.lanes)
    for lane in range(s.lanes if each else more):
        samples = list(islice(row, each + (lane < more)))
        yield samples, list(accumulate((x.end - x.begin for x in samples), initial=0)), range(len(samples))


def half_time(lane, s):
    return 2**30 + Generator(s.seed, s.epoch, lane, 0, 3).below(2**31)


def time_of(v, z, h):
    return 2 * v * h // (3 * z) if 2 * v < 3 * z else h + (2 * v - 3 * z) * (2**32 - h) // (3 * z)


def lanes_of_stretches(shards, s):
    segments = dealt_segments(shards, s)
    p, in_use = permutation(len(segments), s), min(s.lanes, len(segments))
    return [[stretch for i in p[lane::in_use] for stretch in segments[i]] for lane in range(in_use)]


def dealt_lanes(shards, s):
    """Of each lane in use: its samples, their places, and the times at which one leaves."""
    for lane, stretches in enumerate(lanes_of_stretches(shards, s)):
        samples, places, v, base = [], [], [], 0
        for shard, begin, end in stretches:
            ends = [base] * 3  # of the three samples before; of those that are not there, the base
            for sample in samples_in(shard, begin, end):
                samples.append(sample)
                places.append(base + sample.begin - begin)
                v.append(sum(ends[-3:]))
                ends.append(base + sample.end - begin)
            base += end - begin
        yield samples, places, [time_of(sum_of_ends, base, half_time(lane, s)) for sum_of_ends in v]


def piece_bytes(in_use, s):
    return max(512, s.buffer // in_use)


def piece_end(k, c):
    return c >> (4 - k) if k < 5 else (k - 3) * c


def shuffled_block(lane, k, samples, s):
    return Generator(s.seed, s.epoch, lane, k, 2).shuffle(samples)


def leaving(lane, samples, places, c, s):
    """The samples of a lane, block after block."""
    blocks = {}
    for sample, place in zip(samples, places):
        k = 0 if place < c else place // c + 4
        while place >= piece_end(k, c):
            k += 1
        blocks.setdefault(k, []).append(sample)
    return list(chain.from_iterable(shuffled_block(lane, k, block, s) for k, block in blocks.items()))


def grid(m, s):
    """The function F for m samples."""
    a = isqrt(m - 1) + 1
    b, rounds = (m + a - 1) // a, 6 if m >= 4096 else 12
    states = [Generator(s.seed, s.epoch, 0, i, 5).state for i in range(rounds)]

    def added(i, y, n):
        return mix(states[i] + (y + 1) * Generator.GOLDEN & MASK) * n >> 64

    def once(x):
        u, v = divmod(x, b)
        for i in range(0, rounds, 2):
            u = (u + added(i, v, a)) % a
            v = (v + added(i + 1, u, b)) % b
        return u * b + v

    def number_at(p):
        x = once(p)
        while x >= m:
            x = once(x)
        return x
    return number_at


def grid_epoch(shards, s):
    samples = list(chain.from_iterable(shard.samples for shard in shards))
    number_at = grid(len(samples), s) if samples else None
    return [(p % s.lanes, samples[number_at(p)]) for p in range(len(samples))]


def epoch_order(shards, s):
    """The samples in the epoch's order, each with its lane."""
    if s.segment == "sample":
        return grid_epoch(shards, s)
    lanes, epoch = list((equal_lanes if has_equal_lanes(s) else dealt_lanes)(shards, s)), []
    for lane, (samples, places, times) in enumerate(lanes):
        own = int(has_equal_lanes(s))  # the first and the last are blocks of their own
        first, last = own, max(own, len(samples) - own)
        middle = leaving(lane, samples[first:last], places[first:last], piece_bytes(len(lanes), s), s)
        left = samples[:first] + middle + samples[last:]
        epoch += [(time, lane, j, sample) for j, (time, sample) in enumerate(zip(times, left))]
    return [(lane, sample) for _, lane, _, sample in sorted(epoch, key=lambda e: e[:3])]


# Section 8: parts of an epoch

def parse_name(name):
    n = "(0|[1-9][0-9]*)"
    match = re.fullmatch(n + "(?:/rank-%s-of-%s(?:/worker-%s-of-%s)?)?(?:@%s)?[.]tar" % (5 * (n,)), name)
    if not match:
        raise ValueError("'%s' names no stream" % name)
    epoch, r, w, i, n, first = [number and int(number) for number in match.groups()]
    return epoch, (r, w, i or 0, 1 if n is None else n) if r is not None else None, first


def part_order(shards, s, part=None, order=None):
    """The samples of a part: (rank, world, worker, workers); None is the whole epoch."""
    (r, w, i, n), order = part or (0, 1, 0, 1), order or epoch_order(shards, s)
    if w == 0 or s.lanes % w or r >= w or i >= n:
        raise ValueError("%d lanes have no such part" % s.lanes)
    if not has_equal_lanes(s):
        ends = len(dealt_segments(shards, s))
    else:
        m = len(order)
        ends = {"none": m, "drop": m // w * w, "pad": (m + w - 1) // w * w}[s.equal]
        order = [(p % s.lanes, order[p % m][1]) for p in range(ends)]
    if part and r >= min(s.lanes, ends):
        raise ValueError("rank %d has no sample" % r)
    return [sample for lane, sample in order if lane % w == r and lane // w % n == i]


def line(number, offset, sample):
    fields = [b"%d\t%d\t%d" % (number, offset, sample.end - sample.begin)]
    for field in sample.shard, sample.key:
        for byte, letter in zip(b"\\\t\n\r", b"\\tnr"):
            field = field.replace(bytes([byte]), b"\\%c" % letter)
        fields.append(field)
    return b"\t".join(fields) + b"\n"


def stretches_of_part(shards, s, part):
    """With dealt lanes: those in the lanes of a part."""
    r, w, i, n = part or (0, 1, 0, 1)
    lanes = enumerate(lanes_of_stretches(shards, s))
    return list(chain.from_iterable(own for lane, own in lanes if lane % w == r and lane // w % n == i))


def sample_at(shard, offset):
    """Where the first sample at or after a byte begins; the shard's ends stay what they are."""
    begins = [sample.begin for sample in shard.samples if sample.begin >= offset]
    return 0 if offset == 0 else min(begins, default=padded(shard.size))


def file_bytes(shards, s, part):
    """With dealt lanes: how long the file of a part is, without the zeros at its end."""
    return sum(end if s.segment == "shard" else sample_at(shard, end) - sample_at(shard, begin)
               for shard, begin, end in stretches_of_part(shards, s, part))


def check_damage(shards, s, part):
    everything = [(shard, 0, shard.size) for shard in shards]
    has_all = s.command == "list" or has_equal_lanes(s)
    for shard, _, end in everything if has_all else stretches_of_part(shards, s, part):
        damage = getattr(shard, "damage", None)
        is_known = s.segment != "shard" and not has_all and any(sample.begin >= end for sample in shard.samples)
        if damage and not is_known:
            raise damage


def write_stream(shards, s, part, first, out):
    order, offset, is_text = part_order(shards, s, part), 0, s.command == "list"
    check_damage(shards, s, part)
    rename_all(order, s.keys)
    for number, sample in enumerate(order[first or 0:]):
        out.write(line(number, offset, sample) if is_text else bytes_of(sample))
        offset += sample.end - sample.begin
    if not is_text and first is None and not has_equal_lanes(s):  # as long as what was dealt
        out.write(bytes(file_bytes(shards, s, part) - offset))
    out.write(bytes(0 if is_text else 1024))


# Section 9: the identity of an order

def identity(shards, s):
    kind = 4 if has_equal_lanes(s) else 3 if s.segment == "shard" else 5
    words = [kind, s.seed, s.lanes, s.buffer, KEYS.index(s.keys)]
    if has_equal_lanes(s):
        words += [{"shard": 0, "sample": 1, "random": 2}.get(s.segment, s.segment), EQUAL.index(s.equal)]
    words += [len(shards), *chain.from_iterable((fnv1a(name), size) for name, size in shards)]
    return "%016x" % Generator(*words).state


def size_of(text):
    unit = " KMGT".find(text[-1:], 1)
    return int(text[:-1]) << 10 * unit if unit > 0 else int(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("command", choices=["stream", "list", "identity"])
    parser.add_argument("folder", type=os.fsencode)
    parser.add_argument("name", nargs="?", default="0.tar")
    parser.add_argument("--shards", type=os.fsencode, metavar="a/0.tar,...")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lanes", type=int, default=384)
    parser.add_argument("--buffer", type=size_of, default=2**26)
    parser.add_argument("--segment", type=lambda v: v if v in SEGMENTS else size_of(v), default="shard")
    parser.add_argument("--equal", choices=EQUAL, default="none")
    parser.add_argument("--keys", choices=KEYS, default="auto")
    parser.add_argument("--on-error", choices=["fail", "skip"], default="fail")
    s = parser.parse_args()
    s.epoch, part, first = parse_name(s.name)
    for value, least, most in (s.seed, 0, MASK), (s.lanes, 1, 2**16), (s.buffer, 0, MASK), (s.epoch, 0, 2**56 - 1):
        if not least <= value <= most:
            raise ValueError("%d is not from %d to %d" % (value, least, most))
    paths = s.shards.split(b",") if s.shards else sorted(
        name for name in os.listdir(s.folder) if name.endswith(b".tar") and not name.startswith(b"."))
    common = os.path.commonprefix(paths).rfind(b"/") + 1  # (the folders)
    shards = []
    for path in paths:
        name, path = path[common:], os.path.join(s.folder, path)
        is_missing = s.on_error == "skip" and not os.path.exists(path)
        if s.command == "identity" or is_missing:
            shards.append(Record(name=name, size=0 if is_missing else os.path.getsize(path), samples=[]))
            continue
        with open(path, "rb") as file:
            tar = file.read()
        try:
            shards.append(shard_of(name, tar, s.on_error == "skip"))
        except Damage as damage:
            shards.append(shard_of(name, tar, True))  # what is complete before it
            shards[-1].damage = damage
    if s.command == "identity":
        return print(identity([(shard.name, shard.size) for shard in shards], s))
    write_stream(shards, s, part, first, sys.stdout.buffer)


if __name__ == "__main__":
    try:
        main()
    except ValueError as error:
        sys.exit("order.py: %s" % error)
