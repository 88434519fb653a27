#!/bin/sh
# SPDX-License-Identifier: MIT
# The README's example for WebDataset, with the loader workers that it has, reads each sample of
# each epoch exactly once; and the ways that it warns of fail as it says.
. "${srcdir:-$(dirname "$0")/..}/tests/functions.sh"
requires_fuse
requires_webdataset
"$python" -c "import torch, PIL, numpy" 2>import-error || {
    [ -z "${SHUFFLEFS_CI:-}" ] || fail "no torch: $(cat import-error)"
    skip "$python has WebDataset, but not torch, Pillow and numpy"
}

# Four workers; each sample is an image and its number.
"$python" - <<'EOP'
import io, os, tarfile
from PIL import Image

os.mkdir("data")
image = io.BytesIO()
Image.new("RGB", (4, 4)).save(image, "JPEG")
for shard in range(6):
    with tarfile.open("data/train-%06d.tar" % shard, "w") as tar:
        for i in range(15):
            number = 15 * shard + i
            for field, data in (("jpg", image.getvalue()), ("cls", b"%d" % number)):
                info = tarfile.TarInfo("%06d.%s" % (number, field))
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))
EOP
mount_ds data mnt

# The first block of Python behind the words "**WebDataset.**"
awk '/^\*\*WebDataset\.\*\*/ { here = 1 }
     here && /^```$/ { exit }
     inside { print }
     here && /^```python$/ { inside = 1 }' "$top/README.md" >example.py
grep -q "num_workers=4" example.py || fail "no example in the README: $(cat example.py)"
sed "s|/mnt/ds|$work/mnt|; s|range(90)|range(3)|" example.py >here.py
"$python" -W ignore - <<'EOP' || fail "the README's example"
import collections

seen = []

def train(image, label):
    assert image.shape == (4, 4, 3), image.shape
    seen.append(int(label))

exec(compile(open("here.py").read(), "README.md", "exec"), {"train": train})
assert len(seen) == 3 * 90, len(seen)
for epoch in range(3):
    part = seen[90 * epoch:90 * (epoch + 1)]
    wrong = {k: n for k, n in collections.Counter(part).items() if n != 1}
    assert sorted(part) == list(range(90)), (epoch, wrong)
assert seen[:90] != seen[90:180], "epochs in one order"
EOP

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
[ "$(read_by_four "mnt/epochs/0.tar mnt/epochs/1.tar mnt/epochs/2.tar mnt/epochs/3.tar")" = "360 90" ] ||
    fail "a list of epochs"
umount_ds mnt
mount_ds "data/train-{000000..000002}.tar" mnt
all="mnt/epochs/0/rank-0-of-1/worker-{0..3}-of-4.tar"
[ "$(read_by_four "$all")" = ValueError ] || fail "more workers than shards"
[ "$(read_by_four "$all" empty_check=False)" = "45 45" ] || fail "empty_check=False"
