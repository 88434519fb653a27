#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Does the order of docs/ORDER.md, as scripts/order.py computes it, have its properties?

  order-properties.py [ROUNDS]

On datasets and settings at random, but always the same ones.  A sample is only an extent.
"""
import os
import random
import sys
from types import SimpleNamespace

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts"))
import order as script  # noqa: E402


def dataset(r):
    """Shards of extents at growing starts; some shards are empty, perhaps all."""
    shards, most, unit = [], r.choice([0, 1, 3, 10, 40]), r.choice([512, 512, 1 << 17, 1 << 22])
    for shard in range(r.choice([1, 2, 5, 20])):
        at, samples = unit * r.randrange(4), []
        for i in range(r.randint(0, most)):
            begin, at = at, at + unit * r.randint(1, 9)
            samples.append(SimpleNamespace(id=(shard, i), begin=begin, end=at))
            at += unit * r.choice([0, 0, 0, 3])
        shards.append(SimpleNamespace(samples=samples, size=at + r.choice([0, 100, 1024])))
    return shards


def settings(r):
    return SimpleNamespace(
        seed=r.getrandbits(64), epoch=r.randrange(9), lanes=r.choice([1, 2, 4, 6, 12, 30, 384]),
        buffer=r.choice([0, 20000, r.randrange(10**6), 2**26]), equal=r.choice(script.EQUAL),
        segment=r.choice(["shard", "random", "sample", 512, 4096, r.randint(512, 10**5), 2**40]))


def ids(samples):
    return [sample.id for sample in samples]


def part(shards, s, order, *which):
    """What a rank or worker reads; None if there is no such part."""
    try:
        return ids(script.part_order(shards, s, which, order))
    except ValueError:
        return None


def each_sample_once(shards, s, order):
    epoch = ids(sample for lane, sample in order)
    assert sorted(epoch) == [sample.id for shard in shards for sample in shard.samples]
    assert epoch == ids(script.part_order(shards, s))


def equal_lanes_are_equal(shards, s, order):
    """Also: each is a run of what the segments are, and sample p // L of lane p % L is the p-th."""
    assert [lane for lane, sample in order] == [p % s.lanes for p in range(len(order))]
    if s.segment == "sample":
        return
    segments = [ids(g) for g in script.all_segments(shards, s)]
    ring = [x for i in script.permutation(len(segments), s) for x in segments[i]]
    lanes = [ids(lane) for lane, places, rounds in script.equal_lanes(shards, s)]
    row = sum(lanes, [])
    assert sorted(row) == (sorted if s.segment == "random" else list)(sum(segments, []))
    turn = ring.index(row[0]) if row else 0
    assert row == ring[turn:] + ring[:turn]
    if s.segment == "shard":
        assert len(segments) == len(shards)
    elif s.segment == "random":
        cuts_are_spread(shards, s)
    else:
        windows = [{(x[0], shards[x[0]].samples[x[1]].begin // s.segment) for x in g} for g in segments]
        assert all(len(w) == 1 for w in windows)
        assert len(windows) == len(set.union(set(), *windows))
    assert len(lanes) == min(s.lanes, len(row))
    sizes = [len(lane) for lane in lanes]
    assert sizes == sorted(sizes, reverse=True) and (not sizes or sizes[0] - sizes[-1] <= 1)
    for lane, samples in enumerate(lanes):
        left = [sample.id for _, sample in order[lane::s.lanes]]
        assert sorted(left) == sorted(samples) and (left[0], left[-1]) == (samples[0], samples[-1])


def cuts_are_spread(shards, s):
    """One cut in each step of the bytes, other ones in each epoch; segments are what lies between."""
    total = sum(script.padded(shard.size) for shard in shards)
    step = max(2**16, -(-total // 1000))
    step += -step % 512
    cuts = list(script.cuts(total, s))
    assert len(cuts) == total // step + 1
    assert all(i * step <= cut < (i + 1) * step or cut == total < (i + 1) * step for i, cut in enumerate(cuts))
    assert all(cut % 512 == 0 for cut in cuts)
    later = SimpleNamespace(**dict(vars(s), epoch=s.epoch + 1))
    assert len(cuts) < 3 or cuts != list(script.cuts(total, later))
    segments, ring = script.dealt_segments(shards, s), []
    assert len(segments) == len(cuts)
    at = {id(shard): sum(script.padded(x.size) for x in shards[:i]) for i, shard in enumerate(shards)}
    for cut, segment in zip(cuts, segments):
        assert not segment or at[id(segment[0][0])] + segment[0][1] == cut % max(1, total)
        for shard, begin, end in segment:
            assert 0 <= begin < end <= script.padded(shard.size)
            ring.append((at[id(shard)] + begin, at[id(shard)] + end))
    assert sum(end - begin for begin, end in ring) == total
    assert all(before[1] % total == after[0] for before, after in zip(ring, ring[1:] + ring[:1]))


def workers_are_a_partition(shards, s, order, rank, world, mine):
    own_lanes = s.lanes // world
    for n in {1, 2, 3, own_lanes}:
        workers = [part(shards, s, order, rank, world, i, n) for i in range(n)]
        assert workers == [[x for k, x in enumerate(mine) if k % own_lanes % n == i] for i in range(n)]


def ranks_in_turn_are_the_epoch(shards, s, order, world):
    epoch, n = ids(sample for lane, sample in order), len(order)
    if s.equal == "drop":
        epoch = epoch[:n - n % world]
    if s.equal == "pad" and n:
        epoch = [epoch[p % n] for p in range(n + -n % world)]
    ranks = [part(shards, s, order, rank, world, 0, 1) for rank in range(world)]
    assert [samples is not None for samples in ranks] == [rank < len(epoch) for rank in range(world)]
    ranks = [samples or [] for samples in ranks]
    assert ranks == [epoch[rank::world] for rank in range(world)]
    if s.equal != "none":
        assert len({len(samples) for samples in ranks}) == 1
        assert abs(len(epoch) - n) < world
    assert all(len(set(samples)) == len(samples) for samples in ranks)
    return epoch, ranks


def resuming_loses_nothing(r, before, after):
    """W ranks have trained the first T positions; W' others go on at K', and read the rest."""
    (epoch, ranks), (epoch_after, ranks_after) = before, after
    t = r.randint(0, min(len(epoch), len(epoch_after)))
    read, rest = [], []
    for rank, samples in enumerate(ranks):
        read += samples[:len(range(rank, t, len(ranks)))]
    for rank, samples in enumerate(ranks_after):
        k = (t + len(ranks_after) - 1 - rank) // len(ranks_after)
        assert k == len(range(rank, t, len(ranks_after)))
        rest += samples[k:]
    assert sorted(read) == sorted(epoch[:t]) and sorted(rest) == sorted(epoch_after[t:])
    assert sorted(read + rest) == sorted(epoch_after)


def dealt_ranks_are_a_partition(shards, s, order, world):
    in_use = min(s.lanes, len(script.dealt_segments(shards, s)))
    ranks = [part(shards, s, order, rank, world, 0, 1) for rank in range(world)]
    assert [samples is not None for samples in ranks] == [rank < in_use for rank in range(world)]
    assert sorted(sum((samples or [] for samples in ranks), [])) == sorted(x.id for _, x in order)
    for rank, samples in enumerate(ranks):
        assert (samples or []) == [x.id for lane, x in order if lane % world == rank]


def dealt_lanes_keep_their_times(shards, s):
    """They rise, and are below 2^32."""
    for samples, places, times in script.dealt_lanes(shards, s):
        assert times == sorted(times) and places == sorted(places)
        assert not times or times[-1] < 2**32
        assert len(set(places)) == len(places)


def check(r):
    shards, s = dataset(r), settings(r)
    order = script.epoch_order(shards, s)
    worlds = [w for w in range(1, s.lanes + 1) if s.lanes % w == 0]
    each_sample_once(shards, s, order)
    if not script.has_equal_lanes(s):
        dealt_lanes_keep_their_times(shards, s)
        for world in worlds:
            dealt_ranks_are_a_partition(shards, s, order, world)
        return
    equal_lanes_are_equal(shards, s, order)
    parts = {w: ranks_in_turn_are_the_epoch(shards, s, order, w) for w in worlds}
    for world, (epoch, ranks) in parts.items():
        rank = r.randrange(world)
        if ranks[rank]:
            workers_are_a_partition(shards, s, order, rank, world, ranks[rank])
        resuming_loses_nothing(r, (epoch, ranks), parts[r.choice(worlds)])
    assert part(shards, s, order, 0, s.lanes + 1, 0, 1) is None


def main():
    rounds = int(sys.argv[1]) if sys.argv[1:] else 300
    for i in range(rounds):
        try:
            check(random.Random("order %d" % i))
        except AssertionError:
            print("order-properties: dataset %d has not all properties" % i, file=sys.stderr)
            raise
    print("order-properties: %d datasets have them all" % rounds)


main()
