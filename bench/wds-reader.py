#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a trainer pays for WebDataset: iterate the samples, look into none.

  wds-reader.py [--shuffle N] [--limit SAMPLES] SHARDS

SHARDS is what WebDataset takes: a path or URL, with braces.  Prints a line of JSON:
samples, seconds, cpu (seconds of this process and its children, user and system).
Importing WebDataset is not timed; opening the shards is.
"""
import argparse
import json
import resource
import time

import webdataset


def cpu_seconds():
    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(r.ru_utime + r.ru_stime for r in both)


def count(samples, limit):
    n = 0
    for _ in samples:
        n += 1
        if n == limit:
            break
    return n


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--shuffle", type=int, default=0)
    args.add_argument("--limit", type=int, default=0)
    args.add_argument("shards")
    args = args.parse_args()

    started, cpu = time.monotonic(), cpu_seconds()
    samples = webdataset.WebDataset(args.shards, shardshuffle=100 if args.shuffle else False)
    if args.shuffle:
        samples = samples.shuffle(args.shuffle)
    iterator = iter(samples)
    n = count(iterator, args.limit)
    seconds = time.monotonic() - started
    iterator.close()  # ends and waits for what still runs, as curl
    print(json.dumps({"samples": n, "seconds": seconds, "cpu": cpu_seconds() - cpu}))


main()
