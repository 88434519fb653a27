#!/bin/sh
# SPDX-License-Identifier: MIT
# Whatever the network does, a read is full or an error, and never ends a file early; its
# size stays, and once the network is well again, so do its bytes.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
requires_fuse

opts="lanes=2,buffer=64K,readahead=0"
make_shards shards --shards 3 --samples 8 --bytes 8000
"$shufflefs" cat -o $opts shards epochs/0.tar >want.tar
start_origin shards

# A failed read is asked again by the kernel, and each tries the network anew: no patience.
# try FAULT READER-OPTION...: read all of a stream and a shard while there is this fault,
# and again without it.
try() {
    fault=$1
    shift
    case $fault in
    stall*) timeout=150ms ;;
    *) timeout=10s ;;
    esac
    touch shards/bad
    mount_ds -o "$opts,retries=0,read-timeout=1s,stall-timeout=$timeout,connect-timeout=10s" \
        "$origin/$fault,over=600,while=bad/train-{000000..000002}.tar" mnt
    "$python" "$top/tests/lib/full-or-error.py" mnt/epochs/0.tar want.tar "$@" --error may
    "$python" "$top/tests/lib/full-or-error.py" mnt/shards/train-000001.tar \
        shards/train-000001.tar "$@" --error may
    rm shards/bad
    # A busy machine may need longer than a second now and then.
    wait_until 60 "$python" "$top/tests/lib/full-or-error.py" mnt/epochs/0.tar want.tar "$@" --error no
    wait_until 60 "$python" "$top/tests/lib/full-or-error.py" mnt/shards/train-000001.tar \
        shards/train-000001.tar "$@" --error no
    wait_until 60 cmp want.tar mnt/epochs/0.tar
    [ "$(stat -c %s mnt/epochs/0.tar)" = "$(stat -c %s want.tar)" ] || fail "size after $fault"
    umount_ds mnt
}

for how in cached direct; do
    try cut,at=40000 --how $how
    try rst,at=40000,times=3 --how $how
    try 503,only=*1.tar --how $how
    try 404,after=2 --how $how
    try stall,at=30000 --how $how
    try short,by=1000 --how $how
done
