#!/bin/sh
# SPDX-License-Identifier: MIT
# A mount reads its list of shards from standard input, and goes on in the background; `bench`
# reads such a list once for all its stages, one of which is another program.  A mount says what
# in a folder was not taken.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"
requires_fuse

make_shards data --shards 3 --samples 20
ls -d data/*.tar >list.txt

cat list.txt | mount_ds - mnt
ls mnt/shards >got
ls data | cmp - got || fail "other shards: $(cat got)"
"$shufflefs" cat data epochs/0.tar | cmp - mnt/epochs/0.tar || fail "another order"
grep -q '"specs":\["-"\]\|source  -' mnt/README || fail "$(cat mnt/README)"
umount_ds mnt

mount_ds @list.txt mnt
"$shufflefs" cat data epochs/0.tar | cmp - mnt/epochs/0.tar || fail "another order"
umount_ds mnt

cat list.txt | "$shufflefs" bench --seconds=1 --json - >found 2>said || fail "$(cat said)"
"$python" -c '
import json
found = json.load(open("found"))
assert found["shards"] == 3 and len(found["stages"]) > 3, found' || fail "$(cat found)"

touch data/labels.csv
mount_ds data mnt 2>said
said "^shufflefs: 1 entry of $work/data was not taken: labels.csv$"
[ "$(wc -l <said)" = 1 ] || fail "$(cat said)"
umount_ds mnt
