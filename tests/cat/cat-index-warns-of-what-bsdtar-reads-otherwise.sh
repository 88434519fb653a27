#!/bin/sh
# SPDX-License-Identifier: MIT
# `shufflefs index` has libarchive, which is bsdtar, read each odd header too: where it reads
# another thing than shufflefs, one line a shard names the first such member.  The index is
# made all the same, and works.  Of tars as GNU tar and Python write them nothing is said.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/indexed.sh"

some_shards

# As real tars have them: long names, links, folders, sparse files, in all formats.
mkdir -p real src/folder
long=$(printf '%0120d' 7)
for i in 1 2 3; do
    echo $i >src/0000$i.txt
    echo $i >src/folder/$long$i.txt
done
ln src/00001.txt src/hard.txt
ln -s 00001.txt src/soft.txt
truncate -s 1M src/sparse.bin
printf x | dd of=src/sparse.bin bs=1 seek=500000 conv=notrunc status=none
for format in oldgnu gnu posix; do
    tar -S --format=$format -cf real/$format.tar src
done
tar -S --format=posix --sparse-version=0.1 -V label -cf real/label.tar src
"$python" -m tarfile -c real/python.tar src
indexes --to=clean shards
[ $status = 0 ] || fail "status $status: $(cat said)"
indexes --to=clean real
[ $status = 0 ] && [ "$(n_indexes clean)" = 8 ] || fail "status $status: $(cat said)"
said "^indexed 5 shards"
[ "$(wc -l <said)" = 1 ] || fail "more is said: $(cat said)"

# Three members of a type that nobody knows: a file to libarchive, none to shufflefs.
"$python" - <<'EOP'
import io, tarfile
with tarfile.open("shards/train-000003.tar", "w", format=tarfile.USTAR_FORMAT) as tar:
    for name, kind in ("a.txt", b"0"), ("o\nd.jpg", b"Z"), ("b.txt", b"0"), ("x.jpg", b"Z"), ("y.jpg", b"Z"):
        member = tarfile.TarInfo(name)
        member.size, member.type = 3, kind
        tar.addfile(member)
        if kind == b"Z":
            tar.fileobj.seek(tar.offset)
        tar.fileobj.write(b"abc" + bytes(509))
        tar.offset = tar.fileobj.tell()
EOP
indexes --to=to shards
[ $status = 0 ] || fail "status $status: $(cat said)"
said "^indexed 4 shards: 122 samples"
said "^shufflefs: train-000003.tar @ 1024: 'o?d.jpg': bsdtar reads 3 bytes here, shufflefs no file, and 2 more members like this: rewrite the shard with GNU tar or Python's tarfile to be sure$"
[ "$(wc -l <said)" = 2 ] || fail "not one line of each: $(cat said)"
[ "$(n_indexes to)" = 4 ] || fail "in to/: $(ls to)"

# The index works; who reads with it, without it, or makes it again hears nothing of this.
"$shufflefs" cat $opts,index-cache=no shards epochs/0.tar >odd.tar 2>said
silent
gives odd.tar -o index-cache=no,index=to shards epochs/0.tar
silent
indexes -o index-cache=no,index=to --to=to shards
[ $status = 0 ] && [ "$(wc -l <said)" = 1 ] || fail "status $status: $(cat said)"
