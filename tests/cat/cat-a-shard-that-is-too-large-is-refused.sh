#!/bin/sh
# SPDX-License-Identifier: MIT
# A shard of more than 2^40 bytes is refused by all commands, in a line that names it: alone or among
# others, local or at a URL.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"

good_shards --samples 3
start_origin shards
cp -r shards large
truncate -s 1100G large/train-000001.tar 2>/dev/null || skip "no file of 1100 GiB can be made here"
mkdir mnt

# refuse SOURCE LINE: all commands say it, and exit 1.
refuse() {
    for command in "cat README" "cat epochs/0.tar" "cat -o on-error=skip epochs/0.tar" ls plan \
        "plan --exact" index "bench --seconds=1 --stages=source,order"; do
        last=""
        case $command in
        cat*) last=${command##* } command=${command% *} ;;
        esac
        [ "$last" != README ] || continue
        status=0
        timeout $patience "$shufflefs" $command "$1" $last >out 2>said || status=$?
        [ $status = 1 ] || fail "exit status $status of: $command"
        said "^shufflefs: $2$"
    done
    mount_refused "$1"
    said "^shufflefs: $2$"
}

why="train-000001.tar: larger than 1 TiB; split the shard"
refuse large/train-000001.tar ".*/large/$why"
refuse large "1 of 3 shards cannot be read: .*/large/$why"
refuse "$origin/wrongtotal,by=1099511627776/train-000001.tar" "$origin.*/$why"
refuse "$origin/wrongtotal,by=1099511627776,only=*1.tar/$three" "1 of 3 shards cannot be read: $origin.*/$why"
