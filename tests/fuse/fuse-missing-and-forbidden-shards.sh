#!/bin/sh
# SPDX-License-Identifier: MIT
# A shard that turns out to be missing or forbidden when it is mounted already is ENOENT or
# EACCES in shards/ and samples/, and EIO for the streams that hold it; one line says so; the
# other shards can be read; and it can be read as soon as it is there.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"
requires_fuse

# says WORDS COMMAND...: it fails, saying that.
says() {
    words=$1
    shift
    ! "$@" >out 2>err || fail "no error of: $*"
    grep -q "$words" err || fail "not '$words' but '$(cat err)' of: $*"
}

good_shards --samples 10
start_origin shards
for code in 401 403 404 410; do
    errno="No such file or directory"
    [ $code -gt 403 ] || errno="Permission denied"
    # The server says it after the mount has waited for long enough.
    touch shards/away shards/held
    mount_ds $quick "$origin/$code,only=*1.tar,while=away/held,only=*1.tar,while=held/$three" mnt
    rm shards/held
    [ "$(ls mnt/shards | wc -l)" = 3 ] || fail "not all names"
    says "Input/output error" cat mnt/epochs/0.tar
    says "Input/output error" stat mnt/epochs/1.tar
    says "$errno" cat mnt/shards/train-000001.tar
    # (C libraries take ENOENT for the end of a folder.)
    says "Permission denied\|Input/output error" ls mnt/samples/train-000001.tar/
    says "$errno" cat mnt/samples/train-000001.tar/000010.jpg
    errors_have mnt "\"event\":\"lost\",\"shard\":\"train-000001.tar\",\"cause\":\"$origin.*HTTP $code\""
    same shards/train-000000.tar mnt/shards/train-000000.tar
    [ "$(ls mnt/samples/train-000002.tar | wc -l)" = 20 ] || fail "another shard is not shown"

    rm shards/away
    wait_until 20 test -e mnt/epochs/0.tar
    same want.tar mnt/epochs/0.tar
    wait_until 20 test -e mnt/shards/train-000001.tar
    same shards/train-000001.tar mnt/shards/train-000001.tar
    wait_until 20 test -s mnt/samples/train-000001.tar/000011.jpg
    [ "$(ls mnt/samples/train-000001.tar | wc -l)" = 20 ] || fail "members are not shown"
    umount_ds mnt
done

# Going missing while it is read is no other thing.
for code in 403 404; do
    errno="No such file or directory"
    [ $code -gt 403 ] || errno="Permission denied"
    mount_ds $quick "$origin/$code,over=1000,only=*1.tar/$three" mnt
    says "Input/output error" cat mnt/epochs/0.tar
    says "$errno" cat mnt/shards/train-000001.tar
    says "Permission denied\|Input/output error" ls mnt/samples/train-000001.tar/
    errors_have mnt "\"event\":\"lost\",\"shard\":\"train-000001.tar\",\"offset\":0,\"cause\":\"$origin.*HTTP $code\""
    umount_ds mnt
done
