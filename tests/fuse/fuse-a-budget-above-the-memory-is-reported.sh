#!/bin/sh
# SPDX-License-Identifier: MIT
# A budget= that is more than the memory there is may end in the OOM killer: mounting says so,
# once and with both numbers, and mounts.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
requires_fuse

make_shards data --shards 2
mib=$(($(getconf _PHYS_PAGES) * $(getconf PAGESIZE) / 1048576 + 1024))
# mount_says [-o OPTIONS]: what mounting data at mnt says, but for what a busy machine waits for, is in `said`.
mount_says() {
    mount_ds "$@" data mnt 2>said-all
    grep -v "waiting for the" said-all >said || true
}

mount_says -o budget=${mib}M
[ "$(grep -c "budget=.* exceeds the [0-9.]*[MGT] of memory that this machine or control group has" said)" = 1 ] &&
    [ "$(wc -l <said)" = 1 ] || fail "not one line: $(cat said)"
"$shufflefs" cat data epochs/0.tar | cmp - mnt/epochs/0.tar || fail "other bytes"
umount_ds mnt
mount_says -o budget=256M
[ ! -s said ] || fail "$(cat said)"
