#!/bin/sh
# SPDX-License-Identifier: MIT
# Links and folders have no data in a tar, whatever sizes their headers and extensions tell:
# the member behind them is not lost.  An extension with an empty name is refused.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"

"$python" - <<'EOF'
import io, os, tarfile

def add(tar, name, data, mtime=1600000000.5, pax={}):
    info = tarfile.TarInfo(name)
    info.size, info.mtime, info.pax_headers = len(data), mtime, pax
    tar.addfile(info, io.BytesIO(data))

def other(tar, kind, name, size, mtime=1600000000.5, pax={}):
    info = tarfile.TarInfo(name)
    info.type, info.size, info.mtime, info.pax_headers = kind, size, mtime, pax
    info.linkname = "k0.bin"
    tar.addfile(info)

def shard(folder, name="A.tar", **how):
    os.makedirs(folder, exist_ok=True)
    return tarfile.open("%s/%s" % (folder, name), "w", **how)

for size, behind in (1500, 0), (1000, 1000), (2560, 1000), (512, 10), (1, 1):
    for kind in tarfile.LNKTYPE, tarfile.SYMTYPE, tarfile.DIRTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE:
        for how in {"format": tarfile.PAX_FORMAT}, {"format": tarfile.GNU_FORMAT}, {"format": tarfile.USTAR_FORMAT}:
            with shard("plain", "%d-%s-%d.tar" % (size, kind.decode(), how["format"]), **how) as tar:
                mtime = 1600000000.5 if how["format"] == tarfile.PAX_FORMAT else 1600000000
                add(tar, "k0.bin", b"0" * size, mtime)
                other(tar, kind, "k1.bin", size, mtime)
                add(tar, "\u00fc2.bin" if how["format"] == tarfile.PAX_FORMAT else "k2.bin", b"2" * behind, mtime)
                add(tar, "k2.cls", b"2", mtime)
                add(tar, "k3.bin", b"3" * size, mtime)
        with shard("told", "%d-%s.tar" % (size, kind.decode())) as tar:
            add(tar, "k0.bin", b"0" * 1000)
            other(tar, kind, "k1.sym", 0, pax={"size": str(size)})
            add(tar, "k2.bin", b"2" * behind)
            add(tar, "k3.bin", b"3")
with shard("nameless") as tar:
    add(tar, "k0.bin", b"0")
    add(tar, "zz.bin", b"z", pax={"path": ""})
EOF

for folder in plain told; do
    for order in 1/shard 3/shard 384/shard 1/random 3/random 384/random; do
        lanes=${order%/*} segment=${order#*/}
        "$python" "$top/scripts/order.py" stream $folder 1.tar --lanes $lanes --segment $segment >want.tar
        "$shufflefs" cat -o lanes=$lanes,segment=$segment $folder epochs/1.tar >got.tar
        same want.tar got.tar
    done
    "$python" -c '
import sys, tarfile
names = [i.name for i in tarfile.open(sys.argv[1], "r|") if i.isreg()]
shards = int(sys.argv[2])
assert sum(n.endswith("3.bin") for n in names) == shards, names
assert sum(n.endswith("2.bin") for n in names) == shards, names' got.tar "$(ls $folder | wc -l)"
done
if "$shufflefs" cat nameless epochs/0.tar >got.tar 2>said; then fail "an empty name"; fi
grep -q "A.tar @ 2048: an empty name in a pax header" said || fail "$(cat said)"
