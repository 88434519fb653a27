#!/bin/sh
# SPDX-License-Identifier: MIT
# With keys=unique every sample has its shard's name as a folder, so a stream of shards whose
# keys restart is unpacked without a loss; a name without room for it is an error.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"

make_shards ds --shards 4 --samples 30 --bytes 900 --restart-keys --name "a-%02d.tar"
make_shards ds --shards 2 --samples 30 --bytes 900 --restart-keys --format webdataset --name "__b-%02d.tar"
for name in 0.tar 1/rank-1-of-2.tar 1@33.tar; do
    for segment in shard 2K; do
        "$shufflefs" cat -o lanes=4,keys=unique,segment=$segment ds epochs/$name >got.tar
        "$python" "$top/scripts/order.py" stream ds $name --lanes 4 --keys unique --segment $segment >want.tar
        same want.tar got.tar
    done
done
"$shufflefs" cat -o lanes=4,keys=unique ds epochs/0.tar | tar -x --one-top-level=out
"$python" - <<'EOT'
import os, tarfile

n = 0
for name in sorted(os.listdir("ds")):
    with tarfile.open("ds/" + name) as tar:
        for m in tar:
            if not m.isreg():
                continue
            with open(os.path.join("out", name[:-4], m.name), "rb") as f:
                assert f.read() == tar.extractfile(m).read(), m.name
            n += 1
assert n == sum(len(files) for _, _, files in os.walk("out")), n
EOT
[ "$("$shufflefs" cat -o keys=unique ds README | grep -c unique)" -gt 0 ] || fail "README"

# No room: a prefix that is full already.
"$python" - <<'EOT'
import io, tarfile

with tarfile.open("long.tar", "w", format=tarfile.USTAR_FORMAT) as tar:
    tar.addfile(tarfile.TarInfo("d" * 152 + "/" + "n" * 80 + ".x"), io.BytesIO(b""))
EOT
if "$shufflefs" cat -o keys=unique long.tar epochs/0.tar >got.tar 2>said; then
    fail "it fits"
fi
grep -q "keys=" said || fail "no remedy: $(cat said)"
