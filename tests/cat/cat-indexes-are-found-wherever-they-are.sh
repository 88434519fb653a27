#!/bin/sh
# SPDX-License-Identifier: MIT
# Indexes are found beside local shards and beside shards at URLs, in index=DIR and in
# index=URL, made once and carried anywhere: then no header is read, and the bytes are the
# same.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/indexed.sh"

some_shards
rest=$(wc -c <tail.tar)
indexes --to=made shards
[ $status = 0 ] && [ "$(ls made)" = "$(ls shards | sed 's/$/.index/')" ] ||
    fail "status $status, in made/: $(ls made): $(cat said)"

# From another machine the same file is another version: HTTP's ETag is not a local time.
start_origin shards
indexes --to=remote "$origin/$three"
[ $status = 0 ] || fail "$(cat said)"
shards_asked 100000000

# index=DIR, whichever way it is called; nothing is kept or looked for elsewhere.
no=index-cache=no
for where in remote remote/ ./remote "$work/remote" "file://$work/remote"; do
    gives tail.tar -o $no,index="$where" "$origin/$three" $tail
    silent
    shards_asked $((rest + margin))
done

# A folder that is not there is mentioned once: the name may be mistyped.
gives tail.tar -o $no,index=maed shards $tail
said "^shufflefs: option 'index': $work/maed: No such file or directory; no index is found there"
[ "$(wc -l <said)" = 1 ] || fail "not one line: $(cat said)"

# index=URL: the same server or another one; the names are the shards'.
mkdir pages
cp -r remote "pages/of the indexes"
start_origin pages
pages=$origin
n_origins=1 origin="http://127.0.0.1:$(cat origin-port.1)"
for where in "$pages/of the indexes" "$pages/of%20the%20indexes/" "$pages/of the indexes?a=b"; do
    gives tail.tar -o $no,index="$where" "$origin/$three" $tail
    silent
    shards_asked $((rest + margin))
done
grep -q '"path": "/of%20the%20indexes/train-000000.tar.index?a=b"' origin-log.2 || fail "the query is lost"

# Beside shards at URLs; there is no need to say so.
cp remote/* shards
gives tail.tar -o $no "$origin/$three" $tail
shards_asked $((rest + margin))
rm shards/*.index

# Where there are none, a few questions are asked for them and no more.
make_shards many --shards 30 --samples 4 --bytes 100
start_origin many
"$shufflefs" cat $opts,$no,segment=64K "$origin/train-{000000..000029}.tar" epochs/0.tar >got.tar
n=$(grep -c '\.tar\.index' "origin-log.$n_origins")
[ "$n" -ge 1 ] && [ "$n" -lt 30 ] || fail "$n questions for indexes beside 30 shards"

# Local shards: in a folder, and beside.  (Who looks for one reads no byte of a shard.)
# unread ARG...: all indexes are there
unread() {
    indexes "$@"
    [ $status = 0 ] || fail "status $status of: $*"
    said "^indexed 3 shards: 120 samples; read 0 bytes"
}
unread -o index-cache=empty,index=made shards
gives tail.tar -o $no,index=made shards $tail
silent
cp made/* shards
unread -o index-cache=empty shards
[ ! -e empty ] || fail "what is known was written again"
gives tail.tar -o $no shards $tail
silent
gives want.tar -o $no shards epochs/0.tar

# Names with folders in them, and those that a URL must spell otherwise.
mkdir -p odd/a odd/b
cp shards/train-000000.tar "odd/a/ä b%41?.tar"
cp shards/train-000001.tar odd/b/x.tar
"$shufflefs" cat $opts,$no odd/a odd/b epochs/0@3.tar >tail.tar
indexes --to=pages/odd odd/a odd/b
[ $status = 0 ] && [ -e "pages/odd/a/ä b%41?.tar.index" ] && [ -e pages/odd/b/x.tar.index ] ||
    fail "$(find pages/odd): $(cat said)"
gives tail.tar -o $no,index=pages/odd odd/a odd/b epochs/0@3.tar
silent
indexes --to=pages/odd odd/a odd/b
said "; read 0 bytes"
for name in 'odd/a/%C3%A4%20b%2541%3F.tar.index' odd/b/x.tar.index; do
    gives tail.tar -o $no,index="$pages/odd" odd/a odd/b epochs/0@3.tar
    silent
    [ "$(grep -c "\"path\": \"/$name\"" origin-log.2)" -ge 2 ] || fail "$name is not read"
done
