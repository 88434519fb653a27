#!/bin/sh
# SPDX-License-Identifier: MIT
# Any number of processes use one cache folder at once, and any of them may be killed at any
# time: no index is torn, all bytes are right, and later ones use what is there.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/indexed.sh"

make_shards shards --shards 40 --samples 60 --bytes 1500
"$shufflefs" cat $opts,index-cache=no shards epochs/0.tar >want.tar
"$shufflefs" cat $opts,index-cache=no shards epochs/1@2000.tar >tail.tar

# Readers and makers, all at once; every other one is killed on its way.
for i in 1 2 3 4 5 6; do
    "$shufflefs" cat $opts,index-cache=cache shards epochs/0.tar >"whole.$i" 2>"said.$i" &
    pids="${pids:-} $!"
    "$shufflefs" cat $opts,index-cache=cache shards epochs/1@2000.tar >"tail.$i" 2>>"said.$i" &
    pids="$pids $!"
    timeout -s KILL 0.0$i "$shufflefs" cat $opts,index-cache=cache shards epochs/$i.tar >/dev/null 2>&1 &
    timeout -s KILL 0.0$i "$shufflefs" index -o index-cache=cache shards >/dev/null 2>&1 &
done
for pid in $pids; do
    wait $pid || fail "status $?: $(cat said.*)"
done
wait
for i in 1 2 3 4 5 6; do
    same want.tar "whole.$i"
    same tail.tar "tail.$i"
    [ ! -s "said.$i" ] || fail "$(cat "said.$i")"
done
[ "$(n_indexes cache)" = 40 ] || fail "$(n_indexes cache) indexes of 40 shards"
indexes -o index-cache=cache shards # with the members, which streams do not know
indexes -o index-cache=cache shards
said "^indexed 40 shards: 2400 samples; read 0 bytes"
gives tail.tar -o index-cache=cache shards epochs/1@2000.tar

# What a killed one began is removed when it is an hour old, and not before.
begun=cache/.begun-00000001-012345678
: >${begun}9abcdef
: >${begun}9abcde0
touch -d "2 hours ago" ${begun}9abcde0
gives tail.tar -o index-cache=cache shards epochs/1@2000.tar
[ -e ${begun}9abcdef ] || fail "a new one was removed"
[ ! -e ${begun}9abcde0 ] || fail "an old one is left"
