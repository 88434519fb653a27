#!/bin/sh
# SPDX-License-Identifier: MIT
# The README's example for WebDataset, in two ranks with the loader workers that it has, reads each
# sample of each epoch exactly once; so does going on after some batches as docs/training.md shows it.
# And what the README warns of fails as it says.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
requires_fuse
requires_webdataset
"$python" -c "import torch, PIL, numpy" 2>import-error || {
    [ -z "${SHUFFLEFS_CI:-}" ] || fail "no torch: $(cat import-error)"
    skip "$python has WebDataset, but not torch, Pillow and numpy"
}

# Two ranks of four workers; each sample is an image and its number.  (Images of 10 KiB: a random segment
# has 64 KiB at least, and a worker shall have some.)
"$python" - <<'EOP'
import io, os, random, tarfile
from PIL import Image

os.mkdir("data")
image = io.BytesIO()
Image.frombytes("RGB", (64, 64), random.Random(1).randbytes(3 * 64 * 64)).save(image, "JPEG", quality=95, subsampling=0)
assert len(image.getvalue()) > 8000
for shard in range(8):
    with tarfile.open("data/train-%06d.tar" % shard, "w") as tar:
        for i in range(15):
            number = 15 * shard + i
            for field, data in (("jpg", image.getvalue()), ("cls", b"%d" % number)):
                info = tarfile.TarInfo("%06d.%s" % (number, field))
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))
EOP
mount_ds data mnt

# The first block of Python below the heading.
awk '/^## Train with torch$/ { here = 1 }
     inside && /^```$/ { exit }
     inside { print }
     here && /^```python$/ { inside = 1 }' "$top/README.md" >example.py
grep -q "num_workers=4" example.py || fail "no example in the README: $(cat example.py)"
sed "s|/mnt/ds|$work/mnt|; s|range(90)|range(3)|" example.py >here.py
cat >ranks.py <<'EOP'
import ast
import collections
import os
import torch.distributed
import torch.multiprocessing

def run_rank(rank, world):
    torch.distributed.init_process_group("gloo", init_method="file://%s/meet" % os.getcwd(), rank=rank, world_size=world)
    seen = [[], [], []]

    def train(image, label):
        assert image.shape == (64, 64, 3), image.shape
        seen[variables["epoch"]].append(int(label))

    variables = {"train": train}
    exec(compile(open("here.py").read(), "README.md", "exec"), variables)
    with open("seen-%d" % rank, "w") as file:
        print(seen, file=file)

if __name__ == "__main__":
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    torch.multiprocessing.start_processes(run_rank, args=(2,), nprocs=2, start_method="fork")
    seen = [ast.literal_eval(open("seen-%d" % rank).read()) for rank in range(2)]
    for epoch in seen[0] + seen[1]:
        assert 30 <= len(epoch) <= 90, "%d samples of a rank" % len(epoch)
    epochs = [seen[0][e] + seen[1][e] for e in range(3)]
    for epoch in epochs:
        wrong = "wrong samples", {k: n for k, n in collections.Counter(epoch).items() if n != 1}
        assert sorted(epoch) == list(range(120)), wrong
    assert epochs[0] != epochs[1], "epochs in one order"
EOP
"$python" -W ignore ranks.py || fail "the README's example"

# read_by_four URLS [OPTION=VALUE...]: how many samples come, and how many of them are distinct, with four workers.
read_by_four() {
    "$python" -W ignore - "$@" <<'EOP'
import ast, sys
import webdataset as wds

urls = sys.argv[1].split()
options = dict(p.split("=") for p in sys.argv[2:])
options = {k: ast.literal_eval(v) for k, v in options.items()}
dataset = wds.WebDataset(urls if len(urls) > 1 else urls[0], shardshuffle=False, **options)
try:
    seen = [str(k) for k in wds.WebLoader(dataset.to_tuple("__key__"), batch_size=None, num_workers=4)]
    print(len(seen), len(set(seen)))
except ValueError as error:
    print("ValueError" if "No samples found in dataset" in str(error) else error)
EOP
}

[ "$(read_by_four mnt/epochs/0.tar)" = ValueError ] || fail "a stream for four workers"
[ "$(read_by_four "mnt/epochs/0.tar mnt/epochs/1.tar mnt/epochs/2.tar mnt/epochs/3.tar")" = "480 120" ] ||
    fail "a list of epochs"

# A job that has used n batches of its workers goes on after them, as docs/training.md says.
sed -n '/^start = f/,/^urls = /p' "$top/docs/training.md" | sed "s|/mnt/ds|$work/mnt|" >urls.py
grep -q "worker-{i}-of-4@" urls.py || fail "no example in docs/training.md"
"$python" -W ignore - <<'EOP' || fail "resuming with workers"
import itertools
import webdataset as wds

epoch, rank, world, B = 0, 0, 1, 3

def batches(n):
    """The batches of a job that starts after n of them, as lists of keys with their shards."""
    variables = {"epoch": epoch, "rank": rank, "world": world, "B": B, "n": n}
    exec(compile(open("urls.py").read(), "training.md", "exec"), variables)
    dataset = wds.WebDataset(variables["urls"], shardshuffle=False).to_tuple("cls").batched(B, partial=True)
    return [[int(c) for c in batch[0]] for batch in wds.WebLoader(dataset, batch_size=None, num_workers=4)]

everything = batches(0)
assert sorted(itertools.chain(*everything)) == list(range(120)), everything
for n in 1, 4, 7, 18:
    used, rest = everything[:n], batches(n)
    assert sorted(itertools.chain(*used, *rest)) == list(range(120)), (n, used, rest)
EOP
umount_ds mnt
mount_ds -o segment=shard "data/train-{000000..000002}.tar" mnt
all="mnt/epochs/0/rank-0-of-1/worker-{0..3}-of-4.tar"
[ "$(read_by_four "$all")" = ValueError ] || fail "more workers than shards"
[ "$(read_by_four "$all" empty_check=False)" = "45 45" ] || fail "empty_check=False"
