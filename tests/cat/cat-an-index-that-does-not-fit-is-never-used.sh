#!/bin/sh
# SPDX-License-Identifier: MIT
# An index of another version or size, of another shard, truncated, with a flipped byte, in
# another version of the format, empty, a folder, a link or a pipe is never used: headers are
# read instead, and the bytes are right.  It is said which and why, but not of the cache.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/indexed.sh"

some_shards
no=index-cache=no
indexes --to=good shards
bad=$one.index

# wrong WORDS: what is now ix/$bad is not used, nor is it beside its shard.
wrong() {
    for where in ix shards; do
        [ $where = ix ] || mv ix/$bad shards
        gives tail.tar -o $no,index=ix shards $tail
        said "index: $one: the index $work/$where/$bad is not used: .*$1.*, its headers are read instead"
        [ "$(wc -l <said)" = 1 ] || fail "more is said: $(cat said)"
    done
    rm -r ix shards/$bad
    cp -r good ix
}

# backwards FILE: the same members in another order, in as many bytes
backwards() {
    "$python" - "$1" <<'EOP'
import os, sys, tarfile
path = sys.argv[1]
with tarfile.open(path) as old, tarfile.open(path + ".new", "w", format=tarfile.USTAR_FORMAT) as new:
    for member in reversed(old.getmembers()):
        new.addfile(member, old.extractfile(member))
assert os.path.getsize(path) == os.path.getsize(path + ".new")
os.rename(path + ".new", path)
EOP
}

cp -r good ix
: >ix/$bad
wrong ""
cp good/train-000000.tar.index ix/$bad
wrong "for a shard of [0-9]* bytes, but this one has"
for n in 1 8 111 112 500 $(($(stat -c %s good/$bad) - 1)); do
    truncate -s $n ix/$bad
    wrong ""
done
echo x >>ix/$bad
wrong ""
for at in 0 16 24 32 104 112 200; do
    "$python" -c "
data = bytearray(open('ix/$bad', 'rb').read())
data[$at] ^= 4
open('ix/$bad', 'wb').write(data)"
    wrong ""
done
for change in version format; do
    "$python" "$top/tests/lib/forge-index.py" ix/$bad $change
    wrong "version"
done
junk 100000 >ix/$bad
wrong "it does not begin with SFSINDEX"
rm ix/$bad && mkdir ix/$bad
wrong "not a regular file"
rm ix/$bad && ln -s "$work/good/$bad" ix/$bad
wrong "$bad: Too many levels of symbolic links"
rm ix/$bad && mkfifo ix/$bad
wrong "not a regular file"
gives tail.tar -o $no,index=ix shards $tail
silent

# The members' part is not looked at by streams; who needs it reads the headers again.
"$python" -c "
data = bytearray(open('ix/$bad', 'rb').read())
data[-1] ^= 4
open('ix/$bad', 'wb').write(data)"
gives tail.tar -o $no,index=ix shards $tail
silent
indexes --to=ix shards
[ $status = 0 ] || fail "status $status: $(cat said)"
cmp ix/$bad good/$bad || fail "the damaged index was not made anew"

# What lies beside comes first; when that is of no use, the next place is looked at.
: >shards/$bad
gives tail.tar -o $no,index=ix shards $tail
said "the index $work/shards/$bad is not used"
indexes -o index=ix shards
said "; read 0 bytes"
rm shards/$bad

# Another file of the same bytes: verify=size takes the index.  Another shard of the same
# size: its own headers count.
cp shards/$one copy
mv copy shards/$one
gives tail.tar -o $no,index=ix shards $tail
said "$one.*another version of the shard"
gives tail.tar -o $no,index=ix,verify=size shards $tail
silent
backwards shards/$one
"$shufflefs" cat $opts,$no shards $tail >want.tar
gives want.tar -o $no,index=ix shards $tail
said "$one.*another version of the shard"

# The cache: another version is another index; and what was spoilt there is not spoken of.
rm -r shards
some_shards
gives want.tar shards epochs/0.tar
cache=home/.cache/shufflefs
touch shards/$one
gives tail.tar shards $tail
silent
[ "$(n_indexes $cache)" = 4 ] || fail "$(n_indexes $cache) indexes of four versions"
find $cache -name '*.index' -exec "$python" "$top/tests/lib/forge-index.py" {} format \;
gives tail.tar shards $tail
silent
find $cache -name '*.index' -exec truncate -s 300 {} \;
gives tail.tar shards $tail
silent
gives tail.tar shards $tail
[ "$(find $cache -name '*.index' -size -2 | wc -l)" = 1 ] || fail "they were not written anew" # but the old one's
find $cache -name '*.index' -exec rm {} \; -exec mkdir {} \;
gives tail.tar shards $tail

# At a URL: another ETag, and nonsense of all kinds where an index is looked for.
start_origin shards
indexes --to=shards "$origin/$three"
gives tail.tar -o $no "$origin/$three" $tail
silent
gives tail.tar -o $no "$origin/etag,only=$one/$three" $tail
said "$one: the index $origin/etag,only=$one/$bad is not used: .*another version"
gives tail.tar -o $no,verify=size "$origin/etag,only=$one/$three" $tail
silent
for fault in 403 404 500 503 hangup cut,at=300 stall garbage redirect,to=loop short,by=3 gzip \
    size,by=-100 size,by=100 norange less,bytes=200; do
    gives tail.tar -o $no,stall-timeout=3s "$origin/$fault,only=*.index/$three" $tail
done
