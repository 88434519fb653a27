#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Do the ranks of an epoch in a mount, for any number of them, read that one epoch?

  ranks-in-turn.py EPOCHS none|drop|pad EPOCH LANES

Reads EPOCHS/EPOCH.tar and its ranks' and workers' parts by tarfile.  Keys must not restart
in the shards.  Standard library only.
"""
import itertools
import os
import sys
import tarfile

folder, equal, epoch, lanes = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])


def path(*parts, first=None):
    return os.path.join(folder, epoch, *parts) + ("" if first is None else "@%d" % first) + ".tar"


def count(file, what):
    return int(os.getxattr(file, "user.shufflefs." + what))


def samples(file):
    """Its keys, in its order; its size is to be exact."""
    with tarfile.open(file, "r|") as tar:
        members = [(m.name.partition(".")[0], m.offset_data + m.size) for m in tar]
    end = -(-members[-1][1] // 512) * 512 if members else 0
    assert os.stat(file).st_size == end + 1024, (file, os.stat(file).st_size, end)
    keys = [key for key, _ in itertools.groupby(members, key=lambda m: m[0])]
    assert count(file, "samples") == len(keys), (file, count(file, "samples"), len(keys))
    return keys


def positions(n_ranks):
    """How many the epoch has for so many ranks."""
    n = len(whole)
    return {"none": n, "drop": n // n_ranks * n_ranks,
            "pad": (n + n_ranks - 1) // n_ranks * n_ranks}[equal]


def wanted(rank, n_ranks, first=0):
    """What the rank has of the positions from `first` on."""
    return [whole[p % len(whole)] for p in range(first, positions(n_ranks)) if p % n_ranks == rank]


def check_counts(file, rank, n_ranks):
    """How many are repeated and dropped, on the rank's side of the epoch's end."""
    n, end = len(whole), positions(n_ranks)
    repeated = sum(p % n_ranks == rank for p in range(n, end))
    dropped = sum(p % n_ranks == rank for p in range(end, n))
    got = count(file, "repeated"), count(file, "dropped")
    assert got == (repeated, dropped), (file, got, repeated, dropped)


def check_ranks(n_ranks):
    lengths = set()
    for rank in range(n_ranks):
        file = path("rank-%d-of-%d" % (rank, n_ranks))
        got = samples(file)
        assert got == wanted(rank, n_ranks), "wrong samples in " + file
        check_counts(file, rank, n_ranks)
        lengths.add(len(got))
    assert max(lengths) - min(lengths) <= (equal == "none"), lengths


def check_workers(rank, n_ranks, n_workers):
    whose = "rank-%d-of-%d" % (rank, n_ranks)
    parts = [samples(path(whose, "worker-%d-of-%d" % (i, n_workers))) for i in range(n_workers)]
    ranks = wanted(rank, n_ranks)
    order = {key: i for i, key in enumerate(ranks)}
    assert sorted(key for part in parts for key in part) == sorted(ranks), ("wrong samples", whose)
    assert all(part == sorted(part, key=order.get) for part in parts), ("wrong samples", whose)
    for what in "repeated", "dropped":
        files = [path(whose, "worker-%d-of-%d" % (i, n_workers)) for i in range(n_workers)]
        assert sum(count(f, what) for f in files) == count(path(whose), what), (whose, what)


def check_going_on(used, before, after):
    """So many positions were used by some ranks; others go on, each from its own @K."""
    seen = []
    for rank in range(before):
        part = samples(path("rank-%d-of-%d" % (rank, before)))
        seen += part[:(used + before - 1 - rank) // before]
    assert sorted(seen) == sorted(whole[:used]), "wrong samples"
    for rank in range(after):
        first = (used + after - 1 - rank) // after
        file = path("rank-%d-of-%d" % (rank, after), first=first)
        rest = samples(file)
        assert rest == wanted(rank, after, used), ("wrong samples", file, used)
        seen += rest
    end = max(used, positions(after))
    assert sorted(seen) == sorted(whole[p % len(whole)] for p in range(end)), "wrong samples"
    if equal == "none":
        assert sorted(seen) == sorted(whole), "wrong samples"


whole = samples(os.path.join(folder, epoch + ".tar"))
assert len(set(whole)) == len(whole) > 4 * lanes
assert count(os.path.join(folder, epoch + ".tar"), "repeated") == 0
assert count(os.path.join(folder, epoch + ".tar"), "dropped") == 0
for w in range(1, lanes + 1):
    if lanes % w == 0:
        check_ranks(w)
for args in (0, 1, 5), (1, 2, 3), (2, 3, 2), (11, 12, 2):
    check_workers(*args)
for args in (8, 4, 3), (99, 3, 12), (100, 12, 2), (1, 1, 6), (133, 6, 4), (len(whole) - 1, 2, 4):
    check_going_on(*args)
