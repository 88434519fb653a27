#!/bin/sh
# SPDX-License-Identifier: MIT
# A mount says how many shards are of another format, and what the first is, in one line; with
# on-error=skip it goes on without them.  So do all commands.  No server is asked for more than
# the sizes need.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"
requires_fuse
requires gzip

make_shards shards --shards 26 --samples 2
for i in 03 11 25; do
    gzip "shards/train-0000$i.tar" && mv "shards/train-0000$i.tar.gz" "shards/train-0000$i.tar"
done
echo "<!DOCTYPE html><html>Please log in.</html>" >shards/train-000011.tar
truncate -s 4096 shards/train-000011.tar
start_origin shards
all="train-{000000..000025}.tar"
line="3 of 26 shards are not tar files, the first: .*/train-000003.tar is gzip data: unpack it first (gunzip)"

for source in "shards/$all" "$origin/$all"; do
    mkdir -p mnt
    mount_refused "$source"
    said "^shufflefs: $line; on-error=skip leaves them out$"

    mount_ds -o on-error=skip "$source" mnt 2>said
    said "^shufflefs: $line; they are left out$"
    [ "$(wc -l <said)" = 1 ] || fail "not one line: $(cat said)"
    [ "$(tar tf mnt/epochs/0.tar | wc -l)" = 92 ] || fail "not what is there"
    [ "$(ls mnt/shards | wc -l)" = 26 ] || fail "not all shards are shown"
    umount_ds mnt

    for command in "ls" "plan --batch=8" "bench --seconds=1 --stages=source,order" "index --to=indexes"; do
        status=0
        "$shufflefs" $command "$source" >out 2>said || status=$?
        [ $status = 1 ] || fail "exit status $status of: $command $source"
        said "^shufflefs: $line; on-error=skip leaves them out$"
    done
done

# One of 0 bytes is no tar either, wherever it is, and however its size is known.
make_shards holes --shards 5 --samples 2
for i in 0 2 4; do
    cp holes/train-00000$i.tar away.tar
    : >holes/train-00000$i.tar
    start_origin holes
    for source in holes "$origin/train-{000000..000004}.tar"; do
        mount_refused "$source"
        said "^shufflefs: 1 of 5 shards is not a tar file: .*/train-00000$i.tar is an empty file, not a tar; on-error=skip leaves it out$"
        mount_ds -o on-error=skip "$source" mnt 2>said
        said "train-00000$i.tar is an empty file, not a tar; it is left out$"
        [ "$(tar tf mnt/epochs/0.tar | wc -l)" = 16 ] || fail "not what is there"
        umount_ds mnt
    done
    for source in holes/train-00000$i.tar "$origin/train-00000$i.tar"; do
        mount_refused "$source"
        said "^shufflefs: .*/train-00000$i.tar is an empty file, not a tar$"
        ! "$shufflefs" cat "$source" epochs/0.tar >out 2>said || fail "an epoch of nothing"
        said "^shufflefs: .*/train-00000$i.tar is an empty file, not a tar$"
    done
    mv away.tar holes/train-00000$i.tar
done

start_origin shards
"$shufflefs" ls -o on-error=skip "$origin/$all" >out 2>said || fail "$(cat said)"
[ "$(wc -l <out)" = 26 ] || fail "$(cat out)"
asked "bytes=0-511"
# (Of requests behind each other none is for as many bytes as another.)
! grep -v "bytes=0-5[123]." "origin-log.$n_origins" || fail "more was asked for"
