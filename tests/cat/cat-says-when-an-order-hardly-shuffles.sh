#!/bin/sh
# SPDX-License-Identifier: MIT
# cat says in one line that five whole shards are shuffled badly, about as badly as
# `shufflefs plan` measures, and what helps, which is so; and nothing where it has nothing to say.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"

# Files of 1 KiB: 5 shards of 2,000, and 400 of 25.
"$python" - <<'EOP'
import os
header = b"x.x".ljust(100, b"\0") + b"0000644\0" * 3 + b"%011o\0" % 512 + b"%011o\0" % 0 + b" " * 8 + b"0" + bytes(100)
header = (header + b"ustar\x0000").ljust(512, b"\0")

def member(name):
    block = name.ljust(100, b"\0") + header[100:]
    return block[:148] + b"%06o\0 " % sum(block) + block[156:] + bytes(512)

for folder, n_shards, n in ("five", 5, 2000), ("many", 400, 25), ("few", 5, 20):
    os.mkdir(folder)
    for shard in range(n_shards):
        with open("%s/%03d.tar" % (folder, shard), "wb") as file:
            file.write(b"".join(member(b"%d-%d.x" % (shard, i)) for i in range(n)) + bytes(1024))
EOP

# warned SOURCE PATH OPTIONS: how many lines there are.
warned() {
    "$shufflefs" cat -o "index-cache=no,$3" "$1" "$2" >got 2>said || fail "$(cat said)"
    cat said
    [ "$(wc -l <said)" = "$(grep -c 'shuffles these shards badly' said)" ] || fail "other lines: $(cat said)"
    n=$(wc -l <said)
}

warned five epochs/0.tar segment=shard
[ "$n" = 1 ] || fail "$n lines"
worth=$(sed 's/.*a batch of 256 is worth \([0-9]*\) samples.*/\1/' said)
cure=$(sed "s/.*; \(segment=[^ ]*\) makes that .*/\1/" said)
"$shufflefs" plan -o segment=shard five >plan
measured=$(sed -n 's/^  whole epoch  *\([0-9]*\)$/\1/p' plan)
echo "worth $worth, plan says $measured, cure $cure"
[ "$worth" -ge $((measured * 8 / 10)) ] && [ "$worth" -le $((measured * 12 / 10)) ] ||
    fail "worth $worth, but plan says $measured"

# What it names helps, as plan measures.
"$shufflefs" plan -o "$cure" five >plan
measured=$(sed -n 's/^  whole epoch  *\([0-9]*\).*/\1/p' plan | head -n 1)
[ "$measured" -ge 200 ] || fail "$cure is worth $measured"
warned five epochs/0.tar "$cure"
[ "$n" = 0 ] || fail "a line, with $cure"

# Where there is nothing to say: a dataset that is shuffled well, one that is too small for
# anybody to know, and paths whose order does not matter.
warned many epochs/0.tar segment=shard
[ "$n" = 0 ] || fail "a line of 400 shards"
warned few epochs/0.tar segment=shard
[ "$n" = 0 ] || fail "a line of 100 samples"
warned five shards/000.tar segment=shard
[ "$n" = 0 ] || fail "a line of a shard"
