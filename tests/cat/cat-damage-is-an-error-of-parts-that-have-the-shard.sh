#!/bin/sh
# SPDX-License-Identifier: MIT
# With on-error=fail, and whole shards or random segments that are dealt, damage is an error of the
# parts that have it in their lanes, and of no others; but of each part's .order, and with equal
# lanes of all.  An independent script, written from docs/ORDER.md, finds the same.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"

make_shards ds --shards 6 --samples 5 --bytes 300
"$python" - ds/*3.tar <<'EOP'
import sys
with open(sys.argv[1], "r+b") as file:
    file.seek(1024)
    file.write(b"x" * 512)
EOP

# agree NAME SETTINGS: prints "error" if both say so.
agree() {
    options=$(echo ",$2" | sed 's/,/ --/g; s/=/ /g')
    for suffix in tar order; do
        command=stream
        [ $suffix = tar ] || command=list
        want=0 got=0
        # shellcheck disable=SC2086 # options are words
        "$python" "$top/scripts/order.py" $command ds "$1.tar" $options >want 2>said || want=$?
        "$shufflefs" cat -o "index-cache=no,$2" ds "epochs/$1.$suffix" >got 2>>said || got=$?
        [ "$want" = 0 ] || want=1
        [ "$want" = "$got" ] || fail "$1.$suffix, $2: the script exits with $want, cat with $got: $(cat said)"
        [ "$want" != 0 ] || same want got
        [ "$want" = 0 ] && echo "read $suffix" || echo "error $suffix"
    done
}

for rank in 0 1 2; do
    agree "0/rank-$rank-of-3" lanes=3,segment=shard >>dealt
    agree "0/rank-$rank-of-3" lanes=3,segment=random >>random
    agree "0/rank-$rank-of-3" lanes=3,equal=drop >>equal
    agree "0/rank-$rank-of-3@2" lanes=3,segment=shard >>dealt
done
agree 0 lanes=3,segment=shard >>whole
agree 0 lanes=3,segment=random >>whole
agree 0 lanes=3,segment=sample >>equal
cat dealt random equal whole
[ "$(grep -c '^read tar' dealt)" = 4 ] || fail "not two ranks of three are without the damaged shard"
[ "$(grep -c '^error order' dealt)" = 6 ] || fail "an .order without a damaged shard"
grep -q '^read tar' random || fail "each rank has the damaged segment"
grep -q '^error tar' random || fail "no rank has the damaged segment"
[ "$(grep -c '^error order' random)" = 3 ] || fail "an .order without a damaged shard, at random"
! grep read equal whole || fail "a stream without a damaged shard that it has"
