#!/bin/sh
# SPDX-License-Identifier: MIT
# The .order of each stream is what the script lists, and says where in the stream each
# sample is; it is made while it is read, from any byte on.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
requires_fuse

make_shards ds --shards 7 --samples 40 --bytes 900 --restart-keys --odd --name "a-%02d.tar"
make_shards ds --shards 1 --samples 0 --name "empty.tar"
"$python" - <<'EOT'
import io, os, tarfile

# Keys that need escapes, a sample whose first member has none, and bytes that are no UTF-8.
with tarfile.open("ds/odd \\ name.tar", "w", format=tarfile.GNU_FORMAT, errors="surrogateescape") as tar:
    for name in ("a\tb.x", "c\nd.x", "e\\f.x", "noext", "g.x", "dir/h.x", "dir/\udcff\udcfe.x", "r\rr.x"):
        tar.addfile(tarfile.TarInfo(name), io.BytesIO(b""))
EOT

# agrees NAME: what the script says.
agrees() {
    "$python" "$top/scripts/order.py" list ds "$1.tar" --seed 3 $script >want
    cat "mnt/epochs/$1.order" >got
    same want got
}

for options in "lanes=12,segment=shard" "lanes=12,segment=random" "lanes=12,segment=4K" "lanes=6,segment=sample,equal=pad,keys=asis"; do
    script=$(echo ",$options" | sed 's/,/ --/g; s/=/ /g')
    mount_ds -o "seed=3,$options" ds mnt
    for n in 0 5 0@17 2@100000 1/rank-1-of-3 1/rank-1-of-3@5 2/rank-0-of-2/worker-1-of-3; do
        agrees "$n"
    done
    umount_ds mnt
done

# Each line tells the truth of the stream; any byte may be read first.
mount_ds -o lanes=12,segment=4K ds mnt
"$python" - <<'EOT'
import os, random, sys

stream = open("mnt/epochs/1.tar", "rb").read()
text = open("mnt/epochs/1.order", "rb").read()
end = 0
for i, line in enumerate(text.splitlines()):
    position, offset, length, shard, key = line.split(b"\t")
    assert int(position) == i and int(offset) == end, line
    end += int(length)
    first = stream[int(offset):int(offset) + 512]
    assert first[148:156].strip(b" \0") == b"%06o" % (sum(first[:148]) + 256 + sum(first[156:])), line
assert end + 1024 == len(stream), (end, len(stream))
fd = os.open("mnt/epochs/1.order", os.O_RDONLY)
r = random.Random(1)
for i in range(50):
    at, n = r.randrange(len(text) + 100), r.randrange(1, 5000)
    assert os.pread(fd, n, at) == text[at:at + n], (at, n)
EOT
[ "$(stat -c %s mnt/epochs/1.order)" = "$(wc -c <mnt/epochs/1.order)" ] || fail "the size"
! getfattr -n user.shufflefs.samples mnt/epochs/1.order 2>/dev/null || fail "a text has samples"
for n in 01 -1 x 1@ 1@x; do
    [ ! -e "mnt/epochs/$n.order" ] || fail "$n.order"
done
! cat mnt/epochs/0/rank-3-of-2.order 2>/dev/null || fail "rank 3 of 2"
