#!/bin/sh
# SPDX-License-Identifier: MIT
# `shufflefs mount NAME DIR` takes the sources and options of section [NAME]; the
# command line counts more, and .shufflefs/config says where each setting came from.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
requires_fuse

make_shards data --shards 3
make_shards more --shards 2 --name more-%d.tar
cat >"$XDG_CONFIG_HOME/shufflefs.conf" <<EOF
# for all
seed = 3
epochs = 4

[demo]
source = $work/data/train-{000000..000001}.tar
    $work/data/train-000002.tar
source = $work/more
lanes = 2
seed = 5
EOF
mount_ds -o lanes=3 demo mnt
[ "$(find mnt/shards -type f | wc -l)" = 5 ] || fail "shards: $(find mnt/shards)"
[ "$(ls mnt/epochs | wc -l)" = 4 ] || fail "epochs"
grep -q "^seed = 5 .*# $XDG_CONFIG_HOME/shufflefs.conf:10" mnt/.shufflefs/config || fail "seed: $(cat mnt/.shufflefs/config)"
grep -q "^lanes = 3 .*# -o" mnt/.shufflefs/config || fail "lanes"
grep -q "^epochs = 4 .*# $XDG_CONFIG_HOME/shufflefs.conf:3" mnt/.shufflefs/config || fail "epochs"
umount_ds mnt

# Without a section, the defaults for all still count; config= takes another file.
mount_ds data mnt
grep -q "^seed = 3 " mnt/.shufflefs/config || fail "default of the file"
umount_ds mnt
echo "seed = 8" >other.conf
mount_ds -o config=other.conf data mnt
grep -q "^seed = 8 .*# other.conf:1" mnt/.shufflefs/config || fail "config="
umount_ds mnt
