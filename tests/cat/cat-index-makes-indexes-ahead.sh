#!/bin/sh
# SPDX-License-Identifier: MIT
# `shufflefs index` makes the indexes of a dataset: killed and begun again it reads what is
# left; machines share the work by --part, and find all in one folder; what cannot be indexed
# is named, and the rest is.  Wrong arguments are refused.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/indexed.sh"

make_shards shards --shards 12 --samples 40 --bytes 20000
all="train-{000000..000011}.tar"
"$shufflefs" cat $opts,index-cache=no shards epochs/0@200.tar >tail.tar
total=$(cat shards/* | wc -c)

# Killed while the last shard does not come, and begun again.
: >shards/slow
start_origin shards
source="$origin/stall,while=slow,only=train-000011.tar,at=0,after=1/$all"
"$shufflefs" index $opts,stall-timeout=60s "$source" >said 2>&1 &
wait_until 30 test -e home/.cache/shufflefs
while [ "$(n_indexes home/.cache)" -lt 11 ]; do sleep 0.05; done
kill -KILL $!
wait $! && fail "it ended well" || true
rm shards/slow
shards_asked $((2 * total))
indexes "$source"
[ $status = 0 ] || fail "status $status: $(cat said)"
said "^indexed 12 shards: 480 samples; read .* bytes in [0-9.]* s$"
[ "$(wc -l <said)" = 1 ] || fail "more is said: $(cat said)"
shards_asked $((total / 12 + 100000))
indexes "$source"
said "^indexed 12 shards: 480 samples; "
shards_asked 10000
gives tail.tar "$source" epochs/0@200.tar

# Three machines, one folder, and a fourth that looks there: no header is read.
rest=$(wc -c <tail.tar)
for i in 1 2 3; do
    indexes -o index-cache=no --part=$i/3 --to=shared/folder "$origin/$all"
    [ $status = 0 ] || fail "status $status: $(cat said)"
    said "^indexed 4 shards: 160 samples"
    [ "$(n_indexes shared)" = $((4 * i)) ] || fail "$(n_indexes shared) indexes after part $i"
    [ "$(n_indexes home/.cache)" = 12 ] || fail "in the cache too"
done
shards_asked $((3 * total))
gives tail.tar -o index-cache=no,index=shared/folder "$origin/$all" epochs/0@200.tar
# (Where shards are cut, whole blocks of both sides are read.  Headers would take three times as much.)
shards_asked $((5 * rest / 2 + 12 * 70000))
"$shufflefs" cat $opts,index-cache=no,segment=shard shards epochs/0@200.tar >whole.tar
gives whole.tar -o index-cache=no,index=shared/folder,segment=shard "$origin/$all" epochs/0@200.tar
shards_asked $((rest + 12 * 70000))
indexes --part 13/13 --to=nothing "$origin/$all"
[ $status = 0 ] || fail "status $status: $(cat said)"
said "^indexed 0 shards"
[ ! -e nothing ] || fail "a folder for nothing"

# One damaged shard, and one that is not there.
rm -rf home/.cache
truncate -s 300000 shards/train-000003.tar
indexes --to=to "$origin/$all"
[ $status = 1 ] || fail "status $status: $(cat said)"
said "^indexed 11 shards: 440 samples"
said "^shufflefs: cannot index 1 of 12 shards$"
said "lost: train-000003.tar @ "
[ "$(n_indexes to)" = 11 ] && [ ! -e to/train-000003.tar.index ] || fail "in to/: $(ls to)"
rm shards/train-000003.tar
indexes "$origin/$all"
[ $status = 1 ] || fail "status $status: $(cat said)"
said "^indexed 11 shards"
said "^shufflefs: 1 of 12 shards is missing: .*/train-000003.tar: HTTP 404"
[ "$(wc -l <said)" = 2 ] || fail "not said once: $(cat said)"

# Where nothing can be written, nothing is read.
: >file
mkdir locked && chmod 555 locked
for folder in file file/folder /proc/nowhere locked; do
    [ $folder != locked ] || [ "$(id -u)" != 0 ] || continue
    indexes --to=$folder shards
    [ $status = 1 ] || fail "status $status: $(cat said)"
    [ "$(wc -l <said)" = 1 ] || fail "not one line: $(cat said)"
    said "^shufflefs: cannot save indexes in .*$folder: .*; use another folder with --to="
done

# A server that sends no version: the cache could not distinguish another one.
indexes "$origin/bare/train-00000{0..2}.tar"
[ $status = 1 ] || fail "status $status: $(cat said)"
said "^shufflefs: 3 indexes were not saved: .* the server sends no ETag or date"
indexes --to=bare "$origin/bare/train-00000{0..2}.tar"
[ $status = 0 ] && [ "$(n_indexes bare)" = 3 ] || fail "status $status: $(cat said)"

# Arguments.
for part in 0/2 3/2 x 1/0 1 1/2x 1/2/3 -1/2 1/-1 " 1/2" "" 4294967297/4294967297; do
    indexes --part="$part" --to=refused shards
    [ $status = 2 ] || fail "status $status of --part=$part: $(cat said)"
    said "^shufflefs: --part: '$part' is not I/N with I from 1 to N$"
done
indexes
[ $status = 2 ] || fail "status $status without SOURCE"
indexes --from=x shards
[ $status = 2 ] || fail "status $status of an unknown option"
indexes no-such-folder
[ $status -gt 0 ] || fail "status $status of no-such-folder"
[ ! -e refused ] || fail "something was written"

# A line that shows how far it is, on a terminal and nowhere else.
command -v script >/dev/null || skip "the rest needs script(1)"
export SHUFFLEFS="$shufflefs"
cat >slowly <<'EOP'
: >shards/slow
(sleep 3 && rm shards/slow) &
"$SHUFFLEFS" index -o retries=3,stall-timeout=2s,index-cache=no --to="$1" \
    "$2/stall,$1,while=slow,only=train-000011.tar,at=0,after=1/train-{000004..000011}.tar"
EOP
script -qec "sh slowly bar $origin" /dev/null >bar.txt </dev/null || fail "$(cat bar.txt)"
tr '\r' '\n' <bar.txt >lines
grep -q "^\[#*\.*\] 7 of 8 shards indexed, 87%, 0:0[0-9] left" lines || fail "no bar in: $(cat lines)"
grep -q "indexed 8 shards" lines || fail "$(cat lines)"
sh slowly nobar "$origin" >said 2>&1 || fail "$(cat said)"
said "^indexed 8 shards"
! grep "left\|$(printf '\r')" said || fail "a bar without a terminal"
