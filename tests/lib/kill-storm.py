# SPDX-License-Identifier: MIT
"""kill-storm.py rounds SEED N: a line for each round: who is killed at once, two or three; whether a
trainer has a batch first (y, n), or trainers die only when the next receiver is there (late); and how
many seconds later.

kill-storm.py judge VICTIMS WANTED FILE...: do these trainers, of which some were killed (ring-drain
--tell, whose errors are in drain.N.log), have each batch of WANTED, one a line, and none twice?  If a
receiver was killed, and each trainer with it or gone before with the end, nobody is left who knows what
senders have not been told: then some may come twice."""
import itertools, random, sys

NAMES = ["sender", "second", "receiver", "trainer1", "trainer2"]


def rounds(seed, n):
    rng = random.Random(seed)
    all_victims = [c for k in (2, 3) for c in itertools.combinations(NAMES, k)]
    for i in range(n):
        if i % len(all_victims) == 0:
            rng.shuffle(all_victims)
        victims = all_victims[i % len(all_victims)]
        is_late = "receiver" in victims and rng.random() < 0.5 and not {"trainer1", "trainer2"}.isdisjoint(victims)
        how = "late" if is_late else rng.choice("yn")
        print("%s/%s/%.3f" % (" ".join(rng.sample(victims, len(victims))), how, rng.uniform(0, 0.1)))


def read(path):
    """Of each batch: what it is, and how far its trainer came with it."""
    for text in open(path).read().split("batch ")[1:]:
        lines = text.splitlines()
        last = [line for line in lines if line in ("releasing", "released")]
        yield "batch " + " ".join(line for line in lines if line.startswith(("row", lines[0]))), (last or ["taken"])[-1]


def judge(victims, wanted, paths):
    may_repeat = "receiver" in victims and all(
        "trainer%d" % n in victims or "producer died" not in open("drain.%d.log" % n).read() for n in (1, 2)
    )
    found = {batch: [] for batch in open(wanted).read().splitlines()}
    is_well = True
    for path in paths:
        for batch, how in read(path):
            if batch in found:
                found[batch].append((how, path))
            elif how != "taken":
                print("wrong bytes: %s has %s" % (path, batch[:200]))
                is_well = False
    for batch, who in found.items():
        n_released = sum(how == "released" for how, _ in who)
        if not any(how != "taken" for how, _ in who):
            print("lost: %s: %s" % (batch[:40], who))
        elif n_released > 1 and not may_repeat:
            print("repeated: %s: %s" % (batch[:40], who))
        else:
            continue
        is_well = False
    return is_well


if sys.argv[1] == "rounds":
    rounds(int(sys.argv[2]), int(sys.argv[3]))
else:
    sys.exit(not judge(sys.argv[2], sys.argv[3], sys.argv[4:]))
