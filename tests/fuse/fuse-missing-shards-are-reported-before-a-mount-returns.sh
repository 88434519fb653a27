#!/bin/sh
# SPDX-License-Identifier: MIT
# A mount says how many shards are missing, and which is the first, in one line, before it
# goes to the background.  Without on-error=skip it ends with that line, for no stream could
# be read.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"
requires_fuse

make_shards shards --shards 26 --samples 2
for i in 3 5 8 13 21 25; do
    rm "shards/train-$(printf %06d $i).tar"
done
start_origin shards
all="train-{000000..000025}.tar"

# reported SOURCE WORDS: by a mount that leaves them out, and one that does not.
reported() {
    mkdir -p mnt
    mount_refused "$1"
    said "^shufflefs: 6 of 26 shards are missing, the first: .*/train-000003.tar: $2; on-error=skip leaves them out$"

    mount_ds -o on-error=skip "$1" mnt 2>said
    said "^shufflefs: 6 of 26 shards are missing, the first: .*/train-000003.tar: $2; they are left out$"
    [ "$(wc -l <said)" = 1 ] || fail "not one line: $(cat said)"
    [ "$(grep -c '"event":"skip"' mnt/.shufflefs/errors)" = 6 ] || fail "not each of them"
    [ "$(tar tf mnt/epochs/0.tar | wc -l)" = 80 ] || fail "not what is there"
    umount_ds mnt
}

for try in 1 2 3 4; do
    reported "shards/$all" "No such file or directory"
    reported "$origin/$all" "HTTP 404"
done

# One that is forbidden can be left out by nobody.
mv shards/train-000004.tar shards/train-000003.tar
cp shards/train-000003.tar shards/train-000004.tar
for on_error in fail skip; do
    ! "$shufflefs" mount -o on-error=$on_error "$origin/403,only=*4.tar/train-{000000..000004}.tar" mnt 2>said ||
        fail "mounted"
    said "^shufflefs: 1 of 5 shards cannot be read: .*/train-000004.tar: HTTP 403$"
    [ "$(wc -l <said)" = 1 ] || fail "not one line: $(cat said)"
done

# Of several sources, none of one is there; and nothing at all.
! "$shufflefs" mount -o on-error=skip shards/train-000000.tar "shards/none-{0..2}.tar" mnt 2>said ||
    fail "mounted without a source"
said "^shufflefs: all 3 shards are missing, the first: .*/none-0.tar: No such file"
[ "$(wc -l <said)" = 1 ] || fail "not one line: $(cat said)"
! "$shufflefs" mount "$origin/none-{0..2}.tar" mnt 2>said || fail "mounted nothing"
said "^shufflefs: all 3 shards are missing, the first: .*/none-0.tar: HTTP 404$"

# The first and the last are missing: that is no reason to refuse what lies between.
mount_ds -o on-error=skip "$origin/train-{000005,000000,000025}.tar" mnt 2>said
said "^shufflefs: 2 of 3 shards are missing, the first: .*/train-000005.tar: HTTP 404; they are left out"
umount_ds mnt
