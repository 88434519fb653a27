#!/bin/sh
# SPDX-License-Identifier: MIT
# The pages of a stream leave the page cache when all its readers have gone on by 64 MiB, and
# only then: a slow reader finds them, and where a reader leaps or has a mapping they stay.
# Every byte is right, also while they go.  With keep-pages they stay, and direct reads drop
# none.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
requires_fuse
requires fincore
requires_root

# The kernel, too, takes clean pages while memory is short, or a control group's is, and says
# how many.  A try in which it did so and pages were missed proves nothing, and is made again.
if [ -z "${TRY:-}" ]; then
    for TRY in 1 2 3 4 5 6 7 8; do
        status=0
        TRY=$TRY srcdir=$top "$top/tests/fuse/$name" || status=$?
        [ $status = 75 ] || exit $status
        sleep 2
    done
    skip "memory is short: the kernel reclaimed pages in each of $TRY tries"
fi
reclaimed() {
    grep -E '^(pgsteal_|drop_pagecache )' /proc/vmstat
}
reclaimed_before=$(reclaimed)

MIB=1048576
KEPT=64 # MiB
FEW=$((KEPT + 2 + 16 + 8)) # and twice the readahead, a step, and what is ahead
in_cache() { # in_cache EPOCH: MiB
    echo $(($(fincore --bytes --noheadings --output RES "mnt/epochs/$1.tar") / MIB))
}
has_at_most() { # has_at_most MIB EPOCH
    [ "$(in_cache "$2")" -le "$1" ]
}
stays() { # stays MIB EPOCH WHAT: that many are there still, else WHAT went
    [ "$(in_cache "$2")" -lt "$1" ] || return 0
    [ "$(reclaimed)" = "$reclaimed_before" ] || exit 75
    fail "$3 went"
}
want() { # want EPOCH: what it holds, in the file want
    "$shufflefs" cat data "epochs/$1.tar" >want
}
reads() { # reads FROM [N] <FD: the next N MiB from FROM (MiB) on, or the rest, are right
    dd bs=1M ${2:+count=$2} iflag=fullblock status=none | cmp -i "0:$(($1 * MIB))" \
        ${2:+-n $(($2 * MIB))} - want || fail "wrong bytes from $1 MiB on"
}

make_alike 12 --samples 220 --bytes 100000
mount_ds -o next-epoch=no data mnt

# One reader: few pages while it reads, and few afterwards.
want 0
all=$(($(stat -c %s want) / MIB))
[ $all -gt 220 ] || fail "the data are $all MiB"
exec 3<mnt/epochs/0.tar
reads 0 200 <&3
wait_until 20 has_at_most $FEW 0
stays $KEPT 0 "pages near the reader"
reads 200 <&3
exec 3<&-
wait_until 20 has_at_most $FEW 0

# Direct reads drop nothing: neither while another reads there, nor when it has gone.
want 8
exec 3<mnt/epochs/8.tar
reads 0 40 <&3
for _ in open closed; do
    dd if=mnt/epochs/8.tar bs=1M iflag=direct status=none | cmp - want || fail "a direct reader"
    stays 40 8 "pages beside direct reads"
    exec 3<&-
done

# Two readers: what the slow one has not read stays, however far the other is, and the mount
# is not asked for it again.
want 1
exec 3<mnt/epochs/1.tar
reads 0 8 <&3
same want mnt/epochs/1.tar
stays $((all - 8)) 1 "pages of a slow reader"
delivered=$(stat_of mnt delivered_bytes)
reads 8 <&3
if [ "$(stat_of mnt delivered_bytes)" -ge $((delivered + 8 * MIB)) ]; then # beyond the end of what came before
    [ "$(reclaimed)" = "$reclaimed_before" ] || exit 75
    fail "the slow reader's pages were gone"
fi
exec 3<&-

# One that began later has all before it; when it is closed, the pages go.
want 2
exec 3<mnt/epochs/2.tar
reads 0 100 <&3
exec 4<mnt/epochs/2.tar
reads 100 <&3
stays $((all - 100 + KEPT)) 2 "pages before a late reader"
reads 0 <&4
exec 4<&-
wait_until 20 has_at_most $FEW 2
exec 3<&-

# A reader that leaps keeps what it reads from then on.
want 3
exec 3<mnt/epochs/3.tar
reads 0 150 <&3
wait_until 20 has_at_most $FEW 3
"$python" -c 'import os; os.write(1, os.pread(0, 1 << 20, 0))' <&3 | cmp -n $MIB - want ||
    fail "a reader that leaps"
reads 150 <&3
stays $((all - 150 + KEPT)) 3 "pages of a reader that leaps"
exec 3<&-

# A mapping is a reader, too, though its file was closed: beside one that has read the
# beginning all stays; behind one that has read all, pages go, and come back when it does.
cat >mapper.py <<'EOF2'
import mmap, os, sys
MIB = 1 << 20
fd = os.open(sys.argv[1], os.O_RDONLY)
view = mmap.mmap(fd, 0, prot=mmap.PROT_READ, flags=mmap.MAP_SHARED)
os.close(fd)
want = open(sys.argv[2], "rb").read()
for line in sys.stdin:
    end = MIB if line == "begin\n" else len(want)
    ok = all(view[i:i + MIB] == want[i:i + MIB] for i in range(0, end, MIB))
    os.write(1, b"same\n" if ok else b"other\n")
EOF2
maps() { # maps begin|all
    echo "$1" >&5
    read -r said <&6
    [ "$said" = same ] || fail "a mapping ($1): $said"
}
want 4
mkfifo ask answer
"$python" mapper.py mnt/epochs/4.tar want <ask >answer &
exec 5>ask 6<answer
maps begin
same want mnt/epochs/4.tar
stays $((all - 8)) 4 "pages beside a mapping"
maps begin
exec 5>&- 6<&-
wait
want 5
"$python" mapper.py mnt/epochs/5.tar want <ask >answer &
exec 5>ask 6<answer
maps all
wait_until 20 has_at_most $FEW 5
maps begin
maps all
exec 5>&- 6<&-
wait

# Readers at once, in every way, while pages go.
want 6
pids=""
for i in 1 2; do
    cmp want mnt/epochs/6.tar &
    pids="$pids $!"
done
for how in cached mapped direct mapped; do
    "$python" "$top/tests/lib/check-reads.py" mnt/epochs/6.tar want --how $how --reads 30 --seed "$test_seed-$(echo "$pids" | wc -w)" &
    pids="$pids $!"
done
for p in $pids; do wait "$p" || fail "reads differ"; done
umount_ds mnt

# Off.
want 7
mount_ds -o next-epoch=no,keep-pages data mnt
same want mnt/epochs/7.tar
stays $((all - 1)) 7 "with keep-pages, pages"
umount_ds mnt
