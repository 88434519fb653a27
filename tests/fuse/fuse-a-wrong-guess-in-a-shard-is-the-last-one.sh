#!/bin/sh
# SPDX-License-Identifier: MIT
# With random segments, where a sample begins may be guessed wrongly if members hold tars.  Then
# the epoch fails, with a line that names the shard; in that shard nothing is guessed again: of
# any epochs, no more fail than there are shards, and all others are what the script computes.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
requires_fuse

"$python" "$top/tests/lib/tars-in-tars.py" dense 3 20 5000 3000000 1
"$python" "$top/tests/lib/tars-in-tars.py" rare 3 150 5000 3000000 50
start_nginx .

# read_epoch FOLDER EPOCH: is it right?  1: it failed.
read_epoch() {
    if timeout -k 9 $patience cat "$mnt/epochs/$2.tar" >got.tar 2>said; then
        "$python" "$top/scripts/order.py" stream "$1" "$2.tar" --seed 3 --lanes 12 --buffer 1M --segment random >want.tar
        same want.tar got.tar
        return 0
    fi
    grep -q "Input/output error" said || fail "epoch $2 of $1: $(cat said)"
    errors_have "$mnt" "$1-0[0-2].tar.*looks like a tar"
    return 1
}

check() { # folder, source
    mnt=mnt-$((n_mounts + 1)) n_failed=0 first=
    mount_ds -o index-cache=no,segment=random,seed=3,lanes=12,buffer=1M "$2" "$mnt"
    for epoch in 0 1 2 3 4 5; do
        read_epoch "$1" $epoch && continue
        n_failed=$((n_failed + 1))
        first=${first:-$epoch}
    done
    echo "$2: $n_failed epochs failed"
    [ $n_failed -le 3 ] || fail "$n_failed epochs failed: $(cat "$mnt/.shufflefs/errors")"
    grep "looks like a tar" "$mnt/.shufflefs/errors" | grep -o "$1-0[0-2].tar" | sort | uniq -d >twice
    [ ! -s twice ] || fail "guessed wrongly again: $(cat twice)"
    [ -z "$first" ] || read_epoch "$1" $first || fail "epoch $first fails again"
}

for folder in dense rare; do
    check $folder $folder
    check $folder "$nginx/$folder/$folder-{00..02}.tar"
done
