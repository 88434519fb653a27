#!/bin/sh
# SPDX-License-Identifier: MIT
# WebDataset reads the same samples from the mount's epochs as from the shards: the same
# keys, fields and bytes, each as often; from plain and from odd tars, local and from nginx.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
requires_fuse

requires_webdataset

# reads_same KEYS FOLDER [SOURCE]
reads_same() {
    mount_ds -o "keys=$1,lanes=3,buffer=256K" "${3:-$2}" mnt
    "$python" "$top/tests/lib/webdataset-samples.py" "$1" "$2" \
        mnt/epochs/0.tar mnt/epochs/1.tar mnt/epochs/7.tar || fail "keys=$1 of ${3:-$2}"
    umount_ds mnt
}

make_shards plain --shards 4 --samples 30
make_shards restart --shards 4 --samples 12 --restart-keys --fields jpg,cls,json
for format in ustar gnu pax webdataset; do
    make_shards odd-$format --shards 4 --samples 12 --odd --restart-keys --format $format
done
make_shards names --shards 3 --samples 10 --format gnu --restart-keys \
    --prefix "a/long/folder/that/is/not/short/at/all/$(printf 'n%.0s' $(seq 120))-"
mkdir sparse
truncate -s 300K hole.bin
printf x >>hole.bin
for n in 1 2 3; do
    cp --sparse=always hole.bin $n.bin
    echo $n >$n.cls
    tar -S --format=gnu -cf sparse/$n.tar $n.bin $n.cls
    mkdir -p label
    tar -V "label.of $n" -cf label/$n.tar $n.cls plain/train-00000$n.tar
done

for folder in plain odd-ustar odd-gnu odd-pax odd-webdataset restart names sparse label; do
    reads_same auto $folder
done
# Without the folder before equal keys only samples whose keys differ can be told apart.
reads_same asis plain
make_shards odd-once --shards 4 --samples 12 --odd --format gnu
reads_same asis odd-once

if ! command -v nginx >/dev/null; then
    echo "nginx is not installed: HTTP was not tried"
    exit 0
fi
start_nginx .
reads_same auto restart "$nginx/restart/train-{000000..000003}.tar"
reads_same auto odd-gnu "$nginx/odd-gnu/train-{000000..000003}.tar"
