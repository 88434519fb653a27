#!/bin/sh
# SPDX-License-Identifier: MIT
# In a mount, ranks and workers read their parts by path: as `shufflefs cat` gives them,
# however they are read; WebDataset reads each sample of an epoch once from them; a folder
# lists what was looked up; a part that cannot be is EINVAL, with a line that says why.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
requires_fuse

make_shards data --shards 16 --samples 50 --bytes 5000 --format gnu
opts="seed=3,lanes=12,buffer=500K"
mount_ds -o $opts data mnt

for part in 2/rank-0-of-2.tar 2/rank-1-of-2.tar 2/rank-1-of-4/worker-1-of-2.tar \
    2@333.tar 2/rank-1-of-2@100.tar 2/rank-0-of-2/worker-0-of-4@7.tar; do
    "$shufflefs" cat -o $opts data epochs/$part >want.tar
    [ "$(stat -c %s mnt/epochs/$part)" = "$(stat -c %s want.tar)" ] || fail "size of $part"
    [ "$(stat -c %s want.tar)" -gt 100000 ] || fail "$part is short"
    same want.tar mnt/epochs/$part
    for how in direct cached mapped; do
        "$python" "$top/tests/lib/check-reads.py" mnt/epochs/$part want.tar --how $how --reads 60 --seed 1
    done
    tar tf mnt/epochs/$part >/dev/null
done

# Some that nobody has read yet begin in the middle.
"$shufflefs" cat -o $opts data epochs/7/rank-0-of-3@20.tar >want.tar
"$python" "$top/tests/lib/check-reads.py" mnt/epochs/7/rank-0-of-3@20.tar want.tar --how direct --reads 20 --seed 2

# The folder lists what was looked up, and goes on doing so.
[ "$(ls mnt/epochs/2 | tr '\n' ' ')" = "rank-0-of-2 rank-0-of-2.tar rank-1-of-2.tar \
rank-1-of-2@100.tar rank-1-of-4 " ] || fail "$(ls mnt/epochs/2)"
[ "$(ls mnt/epochs/2/rank-1-of-4)" = worker-1-of-2.tar ] || fail "$(ls mnt/epochs/2/rank-1-of-4)"
[ -e mnt/epochs/2/rank-2-of-4.tar ]
ls mnt/epochs/2 | grep -qx rank-2-of-4.tar || fail "a new name is not listed"
[ -z "$(ls mnt/epochs/5)" ] || fail "$(ls mnt/epochs/5)"
[ "$(cd mnt/epochs/2/rank-1-of-4/.. && ls | head -1)" = rank-0-of-2 ] || fail ".."

# refused PATH WORDS: EINVAL, and the ledger says why.
refused() {
    stat "mnt/epochs/$1" 2>said && fail "$1 is there"
    grep -q "Invalid argument" said || fail "$(cat said)"
    errors_have mnt "\"event\":\"refused\",\"shard\":\"epochs/$1\".*$2"
    ! "$shufflefs" cat -o $opts data "epochs/$1" 2>said || fail "$1 is there"
    grep -q "$2" said || fail "$(cat said)"
}
refused 0/rank-3-of-2.tar "numbered from 0 to 1"
refused 0/rank-0-of-5.tar "5 ranks do not divide 12 lanes: mount with lanes=15 (or 10)"
refused 0/rank-0-of-24.tar "mount with lanes=24,"
refused 0/rank-0-of-2/worker-2-of-2.tar "numbered from 0 to 1"
refused 0/rank-2-of-2@5.tar "numbered from 0 to 1"
umount_ds mnt
mount_ds -o lanes=384,segment=shard data mnt
refused_by=$(stat mnt/epochs/0/rank-16-of-32.tar 2>&1) && fail "a rank without a shard is there"
echo "$refused_by" | grep -q "Invalid argument" || fail "$refused_by"
errors_have mnt "only 16; use 16 ranks at most"

# WebDataset, as ranks with workers read: each sample once.
requires_webdataset
e=mnt/epochs/1
"$python" "$top/tests/lib/webdataset-samples.py" auto data \
    "$e/rank-0-of-4/worker-{0..1}-of-2.tar::$e/rank-{1..3}-of-4.tar" "$e@0.tar"
umount_ds mnt
