#!/bin/sh
# SPDX-License-Identifier: MIT
# Indexes may be kept in any folder, beside the shards too: no file there is removed or
# replaced that is not an index of ours.  Only a cache folder that shufflefs made is tidied,
# and there only what a killed process has left.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/indexed.sh"

# Shards whose names look like files of ours, and which are older than an hour.
make_shards shards --shards 3 --samples 40
mkdir ds
for i in 0 1 2; do
    mv "shards/train-00000$i.tar" "ds/new-train-$i.tar"
done
begun=.begun-00000001-0123456789abcdef
head -c 4096 ds/new-train-0.tar >ds/new-1-0123456789abcdef
head -c 4096 ds/new-train-0.tar >ds/$begun
cp -r ds before
find ds before -type f -exec touch -d "2 days ago" {} +
for run in 1 2; do
    indexes --to=ds "ds/new-train-{0..2}.tar"
    [ $status = 0 ] || fail "status $status: $(cat said)"
    for f in before/* before/.begun*; do
        same "$f" "ds/${f#before/}"
    done
    [ "$(n_indexes ds)" = 3 ] || fail "not three indexes: $(ls -a ds)"
done
[ ! -e ds/CACHEDIR.TAG ] || fail "backups would leave the shards out"

# A cache that is a folder of the user's: indexes are kept there, no more.
rm ds/*.index
mkdir empty
for cache in ds empty; do
    indexes -o index-cache=$cache "ds/new-train-{0..2}.tar"
    [ "$(n_indexes $cache)" = 3 ] || fail "$cache is not used: $(cat said)"
    [ ! -e $cache/CACHEDIR.TAG ] || fail "backups would leave $cache out"
done
for f in before/* before/.begun*; do
    same "$f" "ds/${f#before/}"
done

# What has the name of an index and is none, is left alone, and that is said.
echo "my notes" >ds/new-train-0.tar.index
ln -s ../before/new-train-1.tar ds/new-train-1.tar.index
mkdir ds/new-train-2.tar.index
indexes --to=ds "ds/new-train-{0..2}.tar"
[ $status = 1 ] || fail "status $status: $(cat said)"
said "ds/new-train-[0-2].tar.index: not replaced, as it is not an index made by shufflefs"
said "^shufflefs: 3 indexes were not saved"
[ "$(cat ds/new-train-0.tar.index)" = "my notes" ] || fail "notes are gone"
[ -L ds/new-train-1.tar.index ] && [ -d ds/new-train-2.tar.index ] || fail "$(ls -l ds)"
same before/new-train-1.tar ds/new-train-1.tar
! ls -a ds | grep begun | grep -v 0123456789abcdef || fail "a file that was begun is left"
rm -r ds/*.index

# An index is replaced, also one of a version of the format that we do not know.
printf 'SFSINDEX\377\000' >ds/new-train-0.tar.index
indexes --to=ds "ds/new-train-{0..2}.tar"
[ $status = 0 ] && [ "$(wc -c <ds/new-train-0.tar.index)" -gt 1000 ] || fail "$status: $(cat said)"
rm ds/*.index

# A cache folder that was made by shufflefs says so, to backup programs too.
indexes -o index-cache=made/cache "ds/new-train-{0..2}.tar"
[ "$(head -c 43 made/cache/CACHEDIR.TAG)" = "Signature: 8a477f597d28d172789f06886806bc55" ] ||
    fail "no CACHEDIR.TAG: $(ls -a made/cache)"
tar c --exclude-caches made | tar t >listed
! grep -q index listed || fail "tar does not take it for a cache: $(cat listed)"

# There goes what a killed process has left: beginnings of an index of ours, an hour old.
index=$(find made -name '*.index' | head -n 1)
left() { # left NAME BYTES: a file of so many bytes of an index
    head -c "$2" "$index" >"made/cache/$1"
    touch -d "2 hours ago" "made/cache/$1"
}
left .begun-00000001-0000000000000001 0
left .begun-00000001-0000000000000002 5
left .begun-00000001-0000000000000003 150
left .begun-00000001-000000000000004 150
left .begun-00000001-0000000000000005.index 150
left .begun-00000001-000000000000000G 150
left begun-00000001-0000000000000007 150
left new-1-0123456789abcdef 150
cp ds/new-train-0.tar made/cache/.begun-00000001-0000000000000008
echo SFSIN >made/cache/.begun-00000001-0000000000000009 # a newline: no beginning
touch -d "2 hours ago" made/cache/.begun-*[89]
head -c 150 "$index" >made/cache/.begun-00000001-000000000000000a # young
mkdir made/cache/.begun-00000001-000000000000000b
touch -d "2 hours ago" made/cache/.begun-00000001-000000000000000b
rm "$index"
indexes -o index-cache=made/cache "ds/new-train-{0..2}.tar"
[ $status = 0 ] || fail "status $status: $(cat said)"
for i in 1 2 3; do
    [ ! -e made/cache/.begun-00000001-000000000000000$i ] || fail "$i is left"
done
[ "$(find made/cache -maxdepth 1 -name '*egun-*' | wc -l)" = 8 ] || fail "$(ls -a made/cache)"
[ -e made/cache/new-1-0123456789abcdef ] || fail "an unknown file is gone"
same ds/new-train-0.tar made/cache/.begun-00000001-0000000000000008

# Without the mark nothing goes, nor with another's.
for mark in "" "Signature: 8a477f597d28d172789f06886806bc55" \
    "Signature: 8a477f597d28d172789f06886806bc55
# This file is a cache directory tag created by another program."; do
    left .begun-00000001-0000000000000001 150
    rm -f made/cache/CACHEDIR.TAG
    [ -z "$mark" ] || echo "$mark" >made/cache/CACHEDIR.TAG
    rm -r made/cache/??
    indexes -o index-cache=made/cache "ds/new-train-{0..2}.tar"
    [ "$(n_indexes made/cache)" -gt 3 ] || fail "it is not used: $(cat said)"
    [ -e made/cache/.begun-00000001-0000000000000001 ] || fail "gone, with the mark '$mark'"
done
