#!/bin/sh
# SPDX-License-Identifier: MIT
# shards/NAME.idx is the index that DALI's wds2idx would write of that shard (v1.2): found
# by name, not listed; what DALI could not read is refused, and the ledger says why.
. "${srcdir:-$(dirname "$0")/..}/tests/functions.sh"
requires_fuse

make_shards ds/x --shards 2 --samples 30 --bytes 900 --name "a-%02d.tar"
make_shards ds/y --shards 1 --samples 30 --bytes 900 --restart-keys --format webdataset --name "b.tar"
"$python" - <<'EOT'
import io, tarfile

with tarfile.open("ds/y/blank.tar", "w") as tar:
    tar.addfile(tarfile.TarInfo("a b.x"), io.BytesIO(b""))
EOT
mount_ds "ds/x/a-{00..01}.tar" ds/y/b.tar ds/y/blank.tar mnt
[ "$(ls -R mnt/shards | grep -c idx)" = 0 ] || fail "it is listed"
"$python" - <<'EOT'
import re, tarfile

for shard in "x/a-00", "x/a-01", "y/b":
    lines, key = [], None
    with tarfile.open("ds/%s.tar" % shard) as tar:
        for m in tar:
            match = re.match(r"^((?:.*/|)[^.]+)[.]([^/]*)$", m.name)
            if not m.isreg() or not match:
                continue
            if match[1] != key:
                lines.append([])
            key = match[1]
            lines[-1].append("%s %d %d %s" % (match[2], m.offset_data, m.size, m.name))
    want = "v1.2 %d\n" % len(lines) + "".join(" ".join(l) + "\n" for l in lines)
    with open("mnt/shards/%s.idx" % shard) as f:
        got = f.read()
    assert got.strip() == want.strip(), (shard, got[:300], want[:300])
EOT
! cat mnt/shards/y/blank.idx 2>/dev/null || fail "a name with a blank"
grep -q '"event":"refused","shard":"y/blank.tar".*cannot make its .idx' mnt/.shufflefs/errors || fail "$(cat mnt/.shufflefs/errors)"
for n in x/a-02.idx x/.idx x.idx x/a-00.tar.idx; do
    [ ! -e "mnt/shards/$n" ] || fail "$n is there"
done
