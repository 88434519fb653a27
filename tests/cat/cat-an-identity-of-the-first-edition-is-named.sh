#!/bin/sh
# SPDX-License-Identifier: MIT
# A mount that expects the identity which version 0.1.0 showed for the same shards and settings
# is refused, and told that the order is another edition; no other identity is called so.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"

make_shards ds --shards 3 --samples 4

# identity EDITION OPTIONS: the second edition's words are those of the first, plus two.
cat >identity.py <<'EOP'
import os, sys
sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
import order as script
words = [int(word) for word in sys.argv[2:]] + [3]
for name in sorted(os.listdir("ds")):
    words += [script.fnv1a(os.fsencode(name)), os.path.getsize("ds/" + name)]
print("%016x" % script.Generator(*words).state)
EOP
identity() { "$python" identity.py "$top/scripts" "$@"; }

# refused OPTIONS EXPECTED: with expect-order, in one line.
refused() {
    if "$shufflefs" cat -o "$1,expect-order=$2" ds epochs/0.tar >got.tar 2>said; then fail "$1 is read"; fi
    [ "$(wc -l <said)" = 1 ] && [ ! -s got.tar ] || fail "$(cat said)"
}

first=$(identity 1 7 12 1000 0) second=$(identity 3 7 12 1000 0)
[ "$second" = "$("$python" "$top/scripts/order.py" identity ds --seed 7 --lanes 12 --buffer 1000 --segment shard)" ] || fail "the script"
"$shufflefs" cat -o seed=7,lanes=12,buffer=1000,segment=shard,expect-order=$second ds epochs/0.tar >got.tar
refused seed=7,lanes=12,buffer=1000,segment=shard $first
grep -q "expect-order is $first, which is the first edition .* is $second" said || fail "$(cat said)"
refused seed=8,lanes=12,buffer=1000,segment=shard $first
! grep -q edition said || fail "$(cat said)"
grep -q "shard names or sizes differ" said || fail "$(cat said)"

first=$(identity 2 7 12 1000 0 4096 1) second=$(identity 4 7 12 1000 0 4096 1)
"$shufflefs" cat -o seed=7,lanes=12,buffer=1000,segment=4K,equal=drop,expect-order=$second ds epochs/0.tar >got.tar
refused seed=7,lanes=12,buffer=1000,segment=4K,equal=drop $first
grep -q "which is the first edition" said || fail "$(cat said)"
