#!/bin/sh
# SPDX-License-Identifier: MIT
# The indexes of DALI and Energon change no byte of a stream: each is checked against the
# headers, and a line of the log says which is wrong.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"

make_shards ds --shards 6 --samples 60 --bytes 40000 --name "a-%02d.tar"
options=lanes=4,segment=64K,index-cache=no
"$shufflefs" cat -o $options ds epochs/0.tar >want.tar

# agrees: the stream is the same, and this many lines of the log contain the words.
agrees() {
    n=$1
    shift
    "$shufflefs" cat -o "$options${place:+,index=$place}" "${source:-ds}" epochs/0.tar >got.tar 2>said || fail "$(cat said)"
    same want.tar got.tar
    [ "$(grep -c "$*" said)" = "$n" ] || fail "not $n times '$*': $(cat said)"
}

# DALI's, true; then without a sample; then cut off; then no index at all.
for i in 0 1 2 3 4 5; do
    "$shufflefs" cat ds shards/a-0$i.idx >made
    mv made ds/a-0$i.idx
done
agrees 0 index
sed -e '1s/60/59/' -e 7d ds/a-02.idx >made
mv made ds/a-02.idx
agrees 1 "a-02.idx does not agree with the shard"
head -c 300 ds/a-03.idx >cut
mv cut ds/a-03.idx
agrees 1 "a-03.idx is not used"
junk 100000 >ds/a-04.idx
agrees 1 "a-04.idx is not used"
rm ds/*.idx

# Energon's: where samples begin, in a folder of their own.
"$python" - <<'EOT'
import os, struct, tarfile

os.mkdir("energon")
for i in range(6):
    starts, key = [], None
    with tarfile.open("ds/a-%02d.tar" % i) as tar:
        for m in tar:
            if m.name.split(".")[0] != key:
                starts.append(m.offset)
            key = m.name.split(".")[0]
            end = m.offset_data + (m.size + 511) // 512 * 512
    if i == 3:
        del starts[7]
    with open("energon/a-%02d.tar.idx" % i, "wb") as f:
        f.write(struct.pack("<%dQ" % (len(starts) + 1), *starts, end))
EOT
place=energon
agrees 1 "a-03.tar.idx does not agree with the shard"

# The same from URLs.
start_nginx .
source="$nginx/ds/a-{00..05}.tar" place="$nginx/energon"
"$shufflefs" cat -o $options "$source" epochs/0.tar >want.tar
agrees 1 "a-03.tar.idx does not agree with the shard"
source=ds

# A file in the place of the folder is named.
echo >info.json
place=info.json
agrees 1 "option 'index': $work/info.json: not a folder"
