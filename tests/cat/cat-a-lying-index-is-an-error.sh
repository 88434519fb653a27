#!/bin/sh
# SPDX-License-Identifier: MIT
# An index whose checksums are right, of the right shard in the right version, but that says
# of samples what is not so, gives no wrong sample: where it lies is an error that names the
# shard and the byte, once, and says what to do; also where large samples are fetched in pieces.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/indexed.sh"

# lies CHANGE OPTIONS SHARD...: with indexes of these that were so forged, an epoch's rest ends in an
# error, and what comes before it is right.
lies() {
    change=$1 with=index-cache=no,$2
    shift 2
    rm -rf ix
    cp -r good ix
    for shard; do "$python" "$top/tests/lib/forge-index.py" ix/$shard.index "$change"; done
    "$shufflefs" cat $opts,$with shards epochs/0@1.tar >want.tar
    status=0
    timeout $patience "$shufflefs" cat $opts,$with,index=ix shards epochs/0@1.tar >got.tar 2>said || status=$?
    [ $status = 1 ] || fail "status $status with $change, $with: $(cat said)"
    n=$(stat -c %s got.tar)
    [ "$change" = join ] || cmp -n "$n" want.tar got.tar || fail "wrong bytes before the error, with $change, $with"
    said "epochs/0@1.tar: read error at byte $n: train-00000[0-2].tar @ [0-9]*: no sample where its index says: .*; remove the index"
    [ $# -gt 1 ] || said ": $1 @"
    [ "$(wc -l <said)" = 1 ] || fail "not said once: $(cat said)"
}

# With random segments, only the indexes of the shards with which lanes begin are read first.
three=$(printf 'train-00000%d.tar ' 0 1 2)
make_shards shards --bytes 3000 --samples 12
indexes --to=good shards
for change in shift lengths join keys; do
    lies $change segment=shard $one
    # shellcheck disable=SC2086 # the names of three shards
    lies $change segment=random $three
done

# Samples too large for their lanes: whether their members are whole is not looked at, for that
# would take requests of its own; but a header there must be.
rm -r shards good
"$python" - <<'EOP'
import io, os, tarfile
os.mkdir("shards")
for shard in range(3):
    with tarfile.open("shards/train-%06d.tar" % shard, "w") as tar:
        for i in range(3):
            info = tarfile.TarInfo("%d-%d.bin" % (shard, i))
            info.size = 8 << 20
            tar.addfile(info, io.BytesIO(bytes([65 + i]) * info.size))
EOP
indexes --to=good shards
for segment in shard random; do
    # shellcheck disable=SC2086 # the names of three shards
    lies shift budget=20M,lanes=3,segment=$segment $three
    said "its index says: no header; "
done

# The indexes of shards that somebody replaced by others, with the old times, in place.
rm -r shards
make_shards shards --bytes 3000 --samples 12
"$shufflefs" cat $opts shards epochs/0.tar >want.tar
"$python" - shards/$one <<'EOP'
import os, sys
path = sys.argv[1]
st = os.stat(path)
with open(path, "r+b") as file:
    data = file.read()
    tar = data[:data.rindex(b"ustar") // 512 * 512]
    file.seek(0)
    file.write(data[512:len(tar)] + data[:512] + data[len(tar):])
os.utime(path, ns=(st.st_atime_ns, st.st_mtime_ns))
EOP
status=0
"$shufflefs" cat $opts shards epochs/0@1.tar >got.tar 2>said || status=$?
[ $status = 1 ] || fail "status $status, not 1: $(cat said)"
said "$one @ .*remove the index: .*or the whole cache folder"
