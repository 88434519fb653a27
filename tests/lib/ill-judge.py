#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Read epochs from a server that is ill (ill-origin.py), and judge what comes.

  ill-judge.py SHUFFLEFS ORIGIN SHARDS WANT SECONDS SEED [ILLNESS]

Reads the epoch of ORIGIN's SHARDS by `shufflefs cat`, again and again for so many seconds,
each time with another seed, and other options that have no part in the order.  Each time it
must be WANT, byte for byte; or a beginning of it, an exit status of 1 and a line that says
why.  (If the server claimed a wrong size, that may not have been found yet, and it may be
some of another epoch: the order depends on sizes.)  And it must end soon.  ILLNESS: this one
only.
"""
import os
import random
import subprocess
import sys
import time
import urllib.parse
import urllib.request

ORDER = "lanes=2,buffer=64K"
TIMES = "stall-timeout=300ms,connect-timeout=2s,read-timeout=3s"
LIMIT_S = 120  # of one epoch: some ten waits of a read-timeout, on a slow machine


def homes():
    """One where libcurl makes all requests, for there is a .netrc, and one where we do."""
    for name in "wire", "libcurl":
        os.makedirs(name, exist_ok=True)
    with open("libcurl/.netrc", "w"):
        pass
    return [os.path.abspath(name) for name in ("wire", "libcurl")]


def has_claimed_a_wrong_size(origin, fault):
    with urllib.request.urlopen(origin + "/__log") as log:
        return any(line.startswith(b"wrong total: ") and fault.encode() in line for line in log)


def main():
    shufflefs, origin, shards, want, seconds, seed = sys.argv[1:7]
    with open(want, "rb") as file:
        want = file.read()
    until = time.time() + float(seconds)
    n = {"whole": 0, "errors": 0}
    dirs = homes()
    while time.time() < until or not n["whole"] + n["errors"]:
        number = "%s-%d" % (seed, sum(n.values()))
        r = random.Random(number)
        fault = "ill,seed=%s,share=%s" % (number, r.choice((1, 3, 10, 30, 80)))
        if len(sys.argv) > 7:
            fault += ",illness=" + urllib.parse.quote(sys.argv[7], safe="")
        options = "%s,%s,connections=%d,retries=%d,budget=%s" % (
            ORDER, TIMES, r.choice((1, 4, 64)), r.choice((0, 2, 5)), r.choice(("10M", "256M")))
        argv = [shufflefs, "cat", "-o", options, "%s/%s/%s" % (origin, fault, shards),
                "epochs/0.tar"]
        env = dict(os.environ, HOME=r.choice(dirs))
        where = "seed %s: HOME=%s %s" % (number, env["HOME"], " ".join(argv))
        try:
            done = subprocess.run(argv, env=env, timeout=LIMIT_S, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE)
        except subprocess.TimeoutExpired as late:
            sys.exit("%s: still at it after %d s: %s" % (where, LIMIT_S, late.stderr))
        said = done.stderr.decode(errors="replace")
        where += "\n" + said
        if done.returncode == 0 and done.stdout == want:
            n["whole"] += 1
        elif done.returncode == 0:
            sys.exit(where + "exit status 0, but wrong bytes")
        elif done.returncode != 1:
            sys.exit(where + "exit status %d" % done.returncode)
        elif len(done.stdout) == len(want):
            sys.exit(where + "all bytes, and an error")
        elif not want.startswith(done.stdout) and not has_claimed_a_wrong_size(origin, fault):
            sys.exit(where + "wrong bytes before the error")
        elif not said.strip():
            sys.exit(where + "an error without a word")
        else:
            n["errors"] += 1
    print("seed %s: %d epochs whole, %d errors" % (seed, n["whole"], n["errors"]))


main()
