#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How many slots a ring needs, if trainers and producers are not always equally fast: a simulation.

  bench/ring-depth.py [--batches N] [--seed S]

A producer fills slots and a trainer empties them, one batch each at a time.  Times of a batch are
gamma distributed with a mean of 1 (the trainer's) and 1/SPEED (the producer's); their jitter is the
standard deviation over the mean.  One batch in 100 also costs the trainer PAUSE more (evaluation, a
checkpoint), with the column "pause".  Prints the share of its time in which the trainer does not
wait.  The same seed gives the same table.
"""
import argparse
import random

DEPTHS = (2, 3, 4, 8, 16, 32)


def draw(rng, mean, jitter):
    return mean if jitter == 0 else rng.gammavariate(1 / jitter**2, mean * jitter**2)


def busy_share(depth, speed, jitter, pause, n, seed):
    """The producer may be `depth` batches ahead: it fills slot k when batch k - depth was released."""
    rng = random.Random(seed)
    released = [0.0] * depth
    filled = trained = work = 0.0
    for k in range(n):
        filled = max(filled, released[k % depth]) + draw(rng, 1 / speed, jitter)
        cost = draw(rng, 1, jitter) + (pause if rng.random() < 0.01 else 0)
        trained = max(trained, filled) + cost
        released[k % depth] = trained
        work += cost
    return work / trained


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--batches", type=int, default=20000)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    print("| producer ÷ trainer | jitter | pause | " + " | ".join("%d slots" % d for d in DEPTHS) + " |")
    print("| ---: | ---: | ---: | " + " | ".join("---:" for _ in DEPTHS) + " |")
    for speed in 1.0, 1.1, 1.3:
        for jitter, pause in (0.1, 0), (0.3, 0), (1.0, 0), (0.3, 10):
            shares = [busy_share(d, speed, jitter, pause, args.batches, args.seed) for d in DEPTHS]
            print("| %.1f | %.1f | %d | %s |" % (
                speed, jitter, pause, " | ".join("%.1f %%" % (100 * s) for s in shares)))


main()
