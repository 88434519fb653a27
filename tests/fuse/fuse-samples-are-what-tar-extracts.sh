#!/bin/sh
# SPDX-License-Identifier: MIT
# samples/SHARD holds the regular files of the shard, whatever tar dialect it is in:
# what GNU tar extracts, byte for byte, with its time; sparse files too.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
requires_fuse

for format in ustar gnu pax webdataset; do
    make_shards data --shards 1 --samples 20 --odd --format $format --name $format.tar
done
mkdir sparse
truncate -s 3M sparse/hole.bin
printf start | dd of=sparse/hole.bin conv=notrunc status=none
printf middle | dd of=sparse/hole.bin bs=1 seek=1500000 conv=notrunc status=none
cp sparse/hole.bin sparse/tail.bin
truncate -s 3000001 sparse/tail.bin
printf x >>sparse/tail.bin
(cd sparse && tar -S --format=gnu -cf ../data/sparse-gnu.tar ./*.bin
 for v in 0.0 0.1 1.0; do tar -S --format=posix --sparse-version=$v -cf ../data/sparse-$v.tar ./*.bin; done
 tar --format=v7 -cf ../data/v7.tar ./*.bin)

mount_ds data mnt
for shard in data/*.tar; do
    n=$(basename "$shard")
    rm -rf out && mkdir out && tar xf "$shard" -C out 2>/dev/null
    # Links are not shown; WebDataset passes over them too.
    (cd out && find . -type f -links 1 ! -name README | sort) >wanted
    (cd "mnt/samples/$n" && find . -type f ! -name README | sort) >got
    diff wanted got || fail "$n: other files"
    while read -r f; do
        cmp "out/$f" "mnt/samples/$n/$f" || fail "$n: $f"
        [ "$(stat -c '%s %Y' "out/$f")" = "$(stat -c '%s %Y' "mnt/samples/$n/$f")" ] ||
            fail "$n: $f: size or time"
    done <wanted
    [ -s wanted ] || fail "$n: nothing compared"
done
umount_ds mnt
