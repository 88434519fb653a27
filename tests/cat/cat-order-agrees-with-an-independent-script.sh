#!/bin/sh
# SPDX-License-Identifier: MIT
# For all kinds of shards and settings, shufflefs cat gives byte for byte what a script
# gives that was written from docs/ORDER.md alone.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"

# Shards of every format, with keys that restart in each, odd members and long names.
n=0
for format in ustar gnu pax webdataset; do
    n=$((n + 1))
    make_shards mixed --shards 2 --samples $((7 + n * 11)) --bytes $((n * n * 300)) \
        --format $format --restart-keys --odd --name "$format-%02d.tar"
done
make_shards mixed --shards 1 --samples 1 --bytes 30000 --restart-keys --name "__one__.tar"
make_shards mixed --shards 1 --samples 0 --name empty.tar

# Pax global headers before, within and between samples; names in the prefix.
"$python" - mixed/global.tar <<'EOF'
import io, sys, tarfile

def add(tar, name, data):
    info = tarfile.TarInfo(name)
    info.size = len(data)
    tar.addfile(info, io.BytesIO(data))

with tarfile.open(sys.argv[1], "w", format=tarfile.USTAR_FORMAT) as tar:
    for i in range(40):
        for comment in {0: ["before all"], 5: ["x"], 9: ["y" * 700, "z"]}.get(i, []):
            block = tarfile.TarInfo.create_pax_global_header({"comment": comment})
            tar.fileobj.write(block)
            tar.offset += len(block)
        name = "%06d" % i if i % 3 else "folder/" * 14 + "%06d" % i
        add(tar, name + ".jpg", b"j" * (i * 97))
        if i in (3, 4, 20):
            block = tarfile.TarInfo.create_pax_global_header({"comment": "inside" * i, "k": "v"})
            tar.fileobj.write(block)
            tar.offset += len(block)
        add(tar, name + ".cls", b"%d" % i)
EOF

# Sparse files and old headers, as GNU tar writes them.
mkdir -p files/folder sparse
"$python" - files <<'EOF'
import os, sys

for i in range(12):
    with open("%s/%d.bin" % (sys.argv[1], i), "wb") as file:
        for k in range(i):  # more than four runs need more headers
            file.seek(30000 * k + 7)
            file.write(b"run %d of %d" % (k, i))
        file.truncate(400000)
    with open("%s/folder/%d.cls" % (sys.argv[1], i), "wb") as file:
        file.write(b"c" * (i * 300))
os.rename(sys.argv[1] + "/7.bin", sys.argv[1] + "/cafe\u0301.bin") # has a path of its own making, too
os.rename(sys.argv[1] + "/8.bin", sys.argv[1] + "/caf\u00e9.bin")
os.symlink("1.bin", sys.argv[1] + "/link.bin")
EOF
for format in gnu oldgnu posix; do
    tar -cSf sparse/$format.tar --format=$format --hole-detection=raw --sort=name -C files .
done
tar -cf sparse/v7.tar --format=v7 --sort=name -C files folder
mkdir v7 # whose names need the folder of keys=auto
for n in 1 2 3; do tar -cf v7/$n.tar --format=v7 --sort=name -C files folder; done
tar -cf sparse/label.tar --format=gnu --sort=name -V "a label.of it" -C files folder

# A dataset of one shard, and one of plain equal ones.
make_shards single --shards 1 --samples 60 --bytes 900
make_shards plain --shards 9 --samples 25 --bytes 500

# Settings: at random, but always the same ones; and the ends of what is allowed.
"$python" - >settings <<'EOF'
import random

r = random.Random("shufflefs")
print("plain 0 0 384 67108864 auto", "mixed 18446744073709551615 4294967295 1 0 auto",
      "single 1 0 65536 1 asis", "mixed 0 0 384 67108864 auto", "plain 5 1 9 4608 asis",
      "mixed 7 3 65536 100000000 auto", "sparse 0 0 2 0 asis", "sparse 3 1 7 100000 asis", "v7 0 0 384 67108864 auto", sep="\n")
for i in range(17):
    print(r.choice(["mixed", "mixed", "plain", "single"]), r.choice([r.randrange(100), r.getrandbits(64)]),
          r.choice([r.randrange(10), r.getrandbits(31)]), r.choice([1, 2, 3, 5, 8, 11, 12, 100]),
          r.choice([1, 512, 20000, 131072, r.randrange(500000), 10**8]), r.choice(["auto", "auto", "asis"]))
EOF

while read -r folder seed epoch lanes buffer keys; do
    for segment in shard random; do
        echo "$folder: seed=$seed epoch=$epoch lanes=$lanes buffer=$buffer segment=$segment keys=$keys"
        "$python" "$top/scripts/order.py" stream "$folder" $epoch.tar --seed $seed --lanes $lanes \
            --buffer $buffer --segment $segment --keys $keys >want.tar
        "$shufflefs" cat -o budget=1G,seed=$seed,lanes=$lanes,buffer=$buffer,segment=$segment,keys=$keys "$folder" \
            epochs/$epoch.tar >got.tar
        same want.tar got.tar
    done
done <settings

# Some of it must have been renamed, or nothing was proved about that.
"$python" "$top/scripts/order.py" stream mixed 2.tar --buffer 0 --segment shard | tar -t >names
grep -q "^[a-z]*-0[01]/" names ||
    fail "no sample was renamed"
