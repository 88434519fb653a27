#!/bin/sh
# SPDX-License-Identifier: MIT
# A cache folder that cannot be made, that is full or that goes away while it is in use costs
# the indexes and nothing else: epochs are right, one line says so, and nothing is left over.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/indexed.sh"

some_shards

# A path below a file (root may write anywhere else).
: >file
for cache in file/cache file /proc/nowhere; do
    for round in 1 2; do
        gives want.tar -o index-cache=$cache shards epochs/0.tar
        [ "$(grep -c 'index: .*: indexes are not kept there for now' said)" = 1 ] &&
            [ "$(wc -l <said)" = 1 ] || fail "not one line: $(cat said)"
        gives tail.tar -o index-cache=$cache shards $tail
    done
done
[ ! -s file ] || fail "something was written"

# No folder is known: nothing is kept, and nothing is said of it.
(
    unset HOME
    gives want.tar shards epochs/0.tar
    silent
)

# `shufflefs index` is of no use then, and says so.
indexes -o index-cache=file/cache shards
[ $status = 1 ] || fail "status $status"
said "^shufflefs: [0-9] indexes were not saved: "
indexes -o index-cache=no shards
[ $status = 1 ] || fail "status $status"
said "^shufflefs: nowhere to save indexes: index-cache=no; use --to=DIR"
indexes --to=file shards
[ $status = 1 ] || fail "status $status"
said "cannot save indexes in .*file: "

# Away while it is in use, and there again: an epoch is read a bit at a time.
"$python" - "$shufflefs" <<'EOP'
import shutil, subprocess, sys
cat = subprocess.Popen([sys.argv[1], "cat", "-o", "lanes=1,buffer=64K,budget=20M,index-cache=gone",
                        "shards", "epochs/0.tar"], stdout=subprocess.PIPE)
n = 0
while data := cat.stdout.read(50000):
    n += len(data)
    shutil.rmtree("gone", ignore_errors=True)
assert cat.wait() == 0 and n > 2_000_000, (cat.returncode, n)
EOP
gives tail.tar -o index-cache=gone shards $tail
gives tail.tar -o index-cache=gone shards $tail
silent

# Full.
[ "$(id -u)" = 0 ] || skip "the rest needs root: a small file system"
mkdir full
mount -t tmpfs -o size=16k tmpfs full 2>why || skip "the rest needs mounts: $(cat why)"
cleanup "umount -l full"
head -c 1M /dev/zero >full/zeros 2>why || true
gives want.tar -o index-cache=full/cache shards epochs/0.tar
said "index: .*full/cache: No space left on device: indexes are not kept there for now"
gives tail.tar -o index-cache=full/cache shards $tail
[ "$(find full -name '.begun-*' | wc -l)" = 0 ] || fail "files that were begun are left"
rm full/zeros
gives want.tar -o index-cache=full/cache shards epochs/0.tar
