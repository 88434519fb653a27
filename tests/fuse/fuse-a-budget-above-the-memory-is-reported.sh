#!/bin/sh
# SPDX-License-Identifier: MIT
# A budget= that is more than the memory there is may end in the OOM killer: mounting says so,
# once and with both numbers, and mounts.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
requires_fuse

make_shards data --shards 2
mib=$(($(getconf _PHYS_PAGES) * $(getconf PAGESIZE) / 1048576 + 1024))
mount_ds -o budget=${mib}M data mnt 2>said
[ "$(grep -c "budget=.* exceeds the [0-9.]*[MGT] of memory that this machine or control group has" said)" = 1 ] &&
    [ "$(wc -l <said)" = 1 ] || fail "not one line: $(cat said)"
"$shufflefs" cat data epochs/0.tar | cmp - mnt/epochs/0.tar || fail "other bytes"
umount_ds mnt
mount_ds -o budget=64M data mnt 2>said
[ ! -s said ] || fail "$(cat said)"
