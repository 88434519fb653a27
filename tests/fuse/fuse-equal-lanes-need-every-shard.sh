#!/bin/sh
# SPDX-License-Identifier: MIT
# With equal lanes, a shard that is damaged is EIO for all streams, with a line that
# names it, and a mount without one of its shards is refused; with on-error=skip it counts with the samples before the damage, or with
# none, and the epoch is what the script makes of these.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"
requires_fuse

small_shards
flip "$(byte_of 000062.jpg)"
keep_before 000061.jpg

# lost SOURCE WORDS: no stream can be looked up; and why.
lost() {
    mount_ds $quick -o segment=64K "$1" mnt
    for file in 0.tar 3/rank-1-of-2.tar 0@5.tar; do
        stat mnt/epochs/$file 2>said && fail "$file is there"
        grep -q "Input/output error" said || fail "$file: $(cat said)"
    done
    errors_have mnt "$2"
    umount_ds mnt
}

# left SOURCE: the streams are those of the shards in rest/.
left() {
    while read -r segment equal part; do
        mount_ds $quick -o on-error=skip,segment=$segment,equal=$equal "$1" mnt
        "$python" "$top/scripts/order.py" stream rest $part.tar --lanes 2 --buffer 65536 \
            --segment $segment --equal $equal >want.tar
        same want.tar mnt/epochs/$part.tar
        umount_ds mnt
    done <<EOD
64K    none 0
16K    drop 1/rank-1-of-2
sample pad  1/rank-0-of-2@7
shard  pad  2/rank-1-of-2
EOD
}

for source in shards "$origin/$three"; do
    lost "$source" "\"shard\":\"$one\".*wrong header checksum"
    left "$source"
done

restore
four="train-{000000..000003}.tar"
head -c 1024 /dev/zero >rest/train-000003.tar
for source in "shards/$four" "$origin/$four"; do
    ! mount_ds $quick -o segment=64K "$source" mnt 2>said || fail "mounted without a shard"
    said "1 of 4 shards is missing: .*train-000003.tar"
    left "$source"
done
