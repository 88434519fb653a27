#!/bin/sh
# SPDX-License-Identifier: MIT
# `shufflefs plan` prints what the script's order gives when it is measured in Python: B_eff
# of all, of the first, of the worst batches and of a rank's, shards in a batch, the lift, and
# with how many ranks it can be resumed; --quality finds settings that reach it, or says which
# come nearest.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"

"$python" - <<'EOF'
import io, random, tarfile, os

r = random.Random(5)
os.mkdir("data")
for shard in range(25):
    with tarfile.open("data/s%02d.tar" % shard, "w", format=tarfile.USTAR_FORMAT) as tar:
        for i in range(r.randrange(60, 140)):
            info = tarfile.TarInfo("%05d.bin" % i)
            info.size = r.randrange(3000)
            tar.addfile(info, io.BytesIO(bytes(info.size)))
EOF
cat >measure.py <<'EOF'
import argparse, collections, functools, glob, os, sys

scripts, n_epochs, batch, ranks, *settings = sys.argv[1:]
sys.path.insert(0, scripts)
import order, order_tar

batch, ranks = int(batch), int(ranks)
seed, lanes, buffer, segment, equal = settings
s = argparse.Namespace(seed=int(seed), lanes=int(lanes), buffer=order.size_of(buffer), equal=equal,
                       segment=segment if segment in order.SEGMENTS else order.size_of(segment))
shards = [order_tar.shard_of(os.path.basename(path).encode(), open(path, "rb").read(), False)
          for path in sorted(glob.glob("data/*.tar"))]

@functools.lru_cache
def epoch_order(n):
    s.epoch = n
    return order.epoch_order(shards, s)

def rows(name):
    n, part, _ = order.parse_name(name)
    return [(sample.shard, sample.key) for sample in order.part_order(shards, s, part, epoch_order(n))]

def batches(samples):
    return [samples[i:i + batch] for i in range(0, len(samples) - batch + 1, batch)]

def worth(some):
    pairs = sum(n * (n - 1) for b in some for n in collections.Counter(s for s, k in b).values())
    same = pairs / len(some) / batch / (batch - 1)
    chance = sum(n * (n - 1) for n in sizes.values()) / len(epoch) / (len(epoch) - 1)
    rho = (same - chance) / (1 - chance)
    b = batch / (1 + (batch - 1) * rho)
    return batch if b > batch or b < 0 else b

epoch = rows("0.tar")
sizes = collections.Counter(s for s, k in epoch)
all = batches(epoch)
tenths = [all[len(all) * i // 10:len(all) * (i + 1) // 10] for i in range(10)]
print("whole epoch %.0f" % worth(all))
print("first batch %.0f" % worth(all[:1]))
print("worst tenth %.0f" % min(map(worth, tenths)))
print("rank 0 of %d %.0f" % (ranks, worth(batches(rows("0/rank-0-of-%d.tar" % ranks)))))
print("shards %.1f" % (sum(len({s for s, k in b}) for b in all) / len(all)))

# The lift: of epoch 0 to each other epoch that is there.
def numbers(streams):
    return {sample: (i, at // batch) for i, stream in enumerate(streams)
            for at, sample in enumerate(stream[:len(stream) // batch * batch])}

def lift(before, after):
    groups = collections.defaultdict(list)
    for sample, number in before.items():
        groups[number].append(after.get(sample))
    met = sum(n * (n - 1) for group in groups.values()
              for number, n in collections.Counter(group).items() if number)
    chance = len(after) * (batch - 1) / len(epoch) / (len(epoch) - 1)
    return met / len(before) / (batch - 1) / chance

def lifts(what, parts):
    first, *others = [numbers(part) for part in parts]
    found = [lift(first, other) for other in others]
    print("lift %s %.2f" % (what, found[0]), *["%.2f" % (sum(found) / 9) for _ in found[8:]])

def parts(e):
    return [rows("%d/rank-%d-of-%d.tar" % (e, r, ranks)) for r in range(ranks)]

n_epochs = int(n_epochs)
lifts("whole epoch", [[epoch]] + [[rows("%d.tar" % e)] for e in range(1, n_epochs)])
lifts("%d rank%s" % (ranks, "s" * (ranks > 1)), [parts(e) for e in range(n_epochs)])
EOF

# said FILE: of what plan has printed, the numbers that measure.py prints, as it does.
said() {
    sed -n -e '/ in the next epoch/{' \
        -e 's/^  \(.*[^ ]\)  *\([0-9.]*\) in the next epoch, \([0-9.]*\) on average.*/lift \1 \2 \3/p' \
        -e 'd' -e '}' \
        -e 's/^  \(whole epoch\|first batch\|worst tenth\|rank 0 of [0-9]*\)  *\([0-9]*\).*/\1 \2/p' \
        -e 's/^\(shards\)  *\([0-9.]*\) per batch.*/\1 \2/p' "$1"
}

# The lift of 2 epochs is that of the next one, of 10 also the mean.
while read -r epochs seed lanes buffer segment equal batch ranks; do
    # (Most of that is Python's: under a sanitizer, the short ones are enough.)
    case $epochs/${WITH_SANITIZER:-no} in 10/no | 2/*) ;; *) continue ;; esac
    settings=seed=$seed,lanes=$lanes,buffer=$buffer,segment=$segment
    [ $equal = none ] || settings=$settings,equal=$equal
    "$shufflefs" plan -o $settings --batch=$batch --ranks $ranks --exact data >plan
    "$python" measure.py "$top/scripts" $epochs $batch $ranks \
        $seed $lanes $buffer $segment $equal >want
    said plan >got
    [ $epochs = 10 ] || sed -i 's/^\(lift .*\) [0-9.]*$/\1/' got
    [ "$(wc -l <got)" = 7 ] || fail "$(cat plan)"
    diff want got || fail "$settings batch=$batch"
    grep -q "^mount with  *-o $settings$" plan || fail "$(cat plan)"
    case $segment/$equal in
    shard/none | random/none) resume="mid-epoch only with the same number of ranks" ;;
    *) resume="mid-epoch with any number of ranks that divides lanes=$lanes" ;;
    esac
    grep -q "^resume  *$resume$" plan || fail "$(cat plan)"
done <<'EOF'
2 0 1 0 shard none 32 1
2 0 4 100000 shard none 64 2
10 7 12 1000000 shard none 20 3
2 3 384 65537 shard none 16 4
2 1 6 100000000 shard none 32 2
10 0 12 100000 20000 none 32 3
2 5 24 1048577 65537 drop 20 4
2 2 6 65537 sample none 32 2
2 9 12 300000 shard pad 16 6
2 4 12 1000000 random none 32 3
2 6 384 65537 random none 16 1
2 8 6 100000 random drop 20 2
EOF
grep -q "25 shards, .* [0-9]* samples$" plan || fail "$(cat plan)"

# Counted in three shards, it is nearly the same.
"$shufflefs" plan --batch 32 data >plan
grep -q "about [0-9]* samples (estimated from three shards" plan || fail "$(cat plan)"

# The cheapest: that of more lanes is not asked for, and what it prints is so good.
"$shufflefs" plan --batch 32 --quality 12 data >plan
worth=$(said plan | sed -n 's/^whole epoch //p')
[ "$worth" -ge 12 ] || fail "$(cat plan)"
options=$(sed -n 's/^mount with  *-o //p' plan)
"$shufflefs" plan --batch 32 -o "$options" data >again
same plan again
"$shufflefs" plan -o segment=4K,equal=pad data >plan
grep -q "^mount with .*,segment=4K,equal=pad$" plan || fail "$(cat plan)"
if "$shufflefs" plan --batch 256 --quality 256 -o seed=1 data >plan 2>said; then
    [ "$(said plan | sed -n 's/^whole epoch //p')" = 256 ] || fail "$(cat plan)"
fi
"$python" - <<'EOF'
import io, os, tarfile

os.mkdir("few")
small, large = [0] * 400, [20000] * 40
for shard, sizes in ("a", small + large), ("b", large + small):
    with tarfile.open("few/%s.tar" % shard, "w", format=tarfile.USTAR_FORMAT) as tar:
        for i, size in enumerate(sizes):
            info = tarfile.TarInfo("%s%05d.bin" % (shard, i))
            info.size = size
            tar.addfile(info, io.BytesIO(bytes(size)))
EOF
if "$shufflefs" plan --batch 64 --quality 60 --ranks 384 few >plan 2>said; then fail "$(cat plan)"; fi
grep -q "no settings reach --quality=60: the best" said || fail "$(cat said)"

# What dealing whole shards cannot have, segments can: lanes run by bytes, and one has its
# small samples first, the other one last.
"$shufflefs" plan --batch 64 --quality 60 few >plan
grep -q "^mount with  *-o .*,segment=1*6*M$" plan || fail "$(cat plan)"
grep -q "^resume  *mid-epoch with any number of ranks" plan || fail "$(cat plan)"

# So many samples that they are not all played.  Nobody looks into the shards in between,
# so they may be holes.
make_shards huge --shards 1 --samples 300 --name a.tar
cp huge/a.tar huge/l.tar
cp huge/a.tar huge/z.tar
for i in 1 2 3 4 5 6; do
    truncate -s ${i}000M huge/b$i.tar huge/m$i.tar
done
for segment in shard sample; do
    "$shufflefs" plan -o lanes=12,segment=$segment --ranks=2 --batch 32 huge >plan
    grep -q "^  estimated  *from [0-9]* samples at 200 places" plan || fail "$(cat plan)"
    grep -q "^lift  *not computed" plan || fail "$(cat plan)"
    worth=$(said plan | sed -n 's/^whole epoch //p')
    [ "$worth" -ge 31 ] || fail "$(cat plan)" # lanes of any lengths end together
done

# The picture: valid XML, and all dots of each panel within its frame; ours are those of the
# order, those of no shuffle go up.
for segment in shard random; do
    "$shufflefs" plan --batch 32 --exact -o lanes=4,buffer=100000,segment=$segment --svg=plan.svg data >/dev/null
    "$python" "$top/scripts/order.py" list data 0.tar --lanes 4 --buffer 100000 --segment $segment >list
    "$python" - list <<'EOF'
import re, sys
import xml.etree.ElementTree as tree

rows = [line.split("\t") for line in open(sys.argv[1])]
shards = sorted({row[3] for row in rows})
ns = "{http://www.w3.org/2000/svg}"
root = tree.parse("plan.svg").getroot()
frames = root.findall(ns + "rect")[1:]
panels = [[(float(x), float(y)) for x, y in re.findall(r"M([\d.]+) ([\d.]+)h", path.get("d"))]
          for path in root.findall(ns + "path")]
assert len(frames) == len(panels) == 4, (len(frames), len(panels))
for frame, dots in zip(frames, panels):
    left, top, width, height = [float(frame.get(k)) for k in ("x", "y", "width", "height")]
    assert len(dots) == len(rows), (len(dots), len(rows))
    assert all(left <= x <= left + width and top <= y <= top + height for x, y in dots)
    if dots is panels[0]:
        for i, (x, y) in enumerate(dots):
            want = top + height - height * (shards.index(rows[i][3]) + .5) / len(shards)
            assert abs(y - want) < .1, (i, y, want)
assert [y for x, y in panels[1]] == sorted((y for x, y in panels[1]), reverse=True)
counts = [sorted(round(y - t, 1) for x, y in dots)
          for dots, t in zip(panels, [float(f.get("y")) for f in frames])]
assert counts[0] == counts[1] == counts[2] == counts[3], "panels have other samples"
EOF
done

# What is wrong is said in one line.
refused() {
    words=$1
    shift
    if "$shufflefs" plan "$@" >plan 2>said; then fail "plan $*"; fi
    grep -q "$words" said || fail "plan $*: $(cat said)"
    [ ! -s plan ] || fail "plan $* prints"
}
refused "plan needs a SOURCE" --batch 3
refused "not a number from 2" --batch 1 data
refused "not a number from 2" --batch=x data
refused "needs a value" data --batch
refused "takes no value" --exact=1 data
refused "5 ranks do not divide 384 lanes: mount with lanes=385 (or 380)" --ranks 5 data
refused "no shard for rank 31 of 32: there are only 25; use 24 ranks at most" -o segment=shard --ranks 32 data
refused "not a number from 1 to 16" --batch 16 --quality 17 data
refused "larger than the dataset" --batch 100000 data
if "$shufflefs" plan --batch 32 --svg none/plan.svg data >/dev/null 2>said; then fail "drawn"; fi
grep -q "none/plan.svg: No such file" said || fail "$(cat said)"

# A drawing replaces a drawing, and no shard: "--svg SHARD SHARD" has lost its argument.
cp -r data victims
victim=victims/$(ls victims | head -n 1)
if "$shufflefs" plan --batch 32 --svg "$victim" data >/dev/null 2>said; then fail "drawn"; fi
grep -q "$victim: the file exists and is not an SVG drawing" said || fail "$(cat said)"
diff -r data victims || fail "a shard was replaced"
"$shufflefs" plan --batch 32 --svg=plan.svg data >/dev/null
refused "no option" --no-such data
refused "No such file" none.tar
junk 5000 >few/bad.tar
refused "cannot read bad.tar: bad.tar @ 0: wrong header checksum" few

# A rank that has no whole batch is not worth nothing.
make_shards tens --shards 12 --samples 10 --bytes 50000
"$shufflefs" plan -o lanes=12 --ranks=12 --batch=100 tens | grep -q "rank 0 of 12  *has fewer samples than a batch" || fail "a rank of ten"
