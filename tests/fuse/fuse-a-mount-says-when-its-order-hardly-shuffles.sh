#!/bin/sh
# SPDX-License-Identifier: MIT
# A mount of five whole shards says in one line, and in its README, that this order shuffles them
# badly and what helps; over HTTP, too.  With that option it says nothing, nor with random segments.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
requires_fuse

make_shards five --shards 5 --samples 1200 --bytes 1000
mkdir mnt

# said_by OPTIONS SOURCE: lines of the mount that say so; the README has it if there is one.
said_by() {
    "$shufflefs" mount -o "index-cache=no$1" "$2" mnt >said 2>&1 || fail "$(cat said)"
    n=$(grep -c 'shuffles these shards badly: a batch of 256 is worth' said) || true
    in_readme=$(grep -c '^shuffle this order shuffles these shards badly: ' mnt/README) || true
    [ "$n" = "$in_readme" ] || fail "$n lines, and $in_readme in README"
    "$shufflefs" umount mnt
    echo "$1 $2: $n"
}

said_by ",segment=shard" five
[ "$n" = 1 ] || fail "$n lines: $(cat said)"
cure=$(sed -n 's/.*; \(segment=[^ ]*\) makes that .*/\1/p' said)
said_by ",$cure" five
[ "$n" = 0 ] || fail "a line with $cure"
said_by ",segment=random" five
[ "$n" = 0 ] || fail "a line with random segments"
start_origin five
said_by ",segment=shard" "$origin/train-{000000..000004}.tar"
[ "$n" = 1 ] || fail "$n lines over HTTP: $(cat said)"
