#!/bin/sh
# SPDX-License-Identifier: MIT
# An answer that comes byte by byte, or a head that never ends, is given up like a silent
# one: of a part and of a size, while mounting and later, over our own connections and over
# libcurl's.  low-speed-limit says what is too slow.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"

good_shards --samples 10
start_origin shards
soon="-o stall-timeout=400ms"
often="-o retries=1000" # (a machine that is busy makes other answers late, too)
for wire in ours libcurl; do
    [ $wire = ours ] || : >"$HOME/.netrc" # then libcurl makes all requests
    for how in body head lines interim; do
        fault=drip,ms=100,$how
        arrives $soon $often "$origin/$fault,over=1000,times=1,$wire/$three"
        arrives $soon $often "$origin/$fault,under=513,times=1,$wire/$three"
        refused $soon "$origin/$fault,under=513,$wire/$three"
        said "train-000000.tar: "
    done
    breaks $brief $soon "$origin/drip,ms=100,over=1000,only=*1.tar,$wire/$three"
    said "lost: train-000001.tar @ [0-9]*: .*bytes in 400 ms, less than low-speed-limit"
    breaks $brief $soon "$origin/drip,ms=100,lines,over=1000,only=*1.tar,$wire/$three"
    said "lost: train-000001.tar @ [0-9]*: .*headers not complete after 400 ms"
done

# What is slow by right is what the option says.
arrives -o stall-timeout=1s,low-speed-limit=20 "$origin/trickle,bytes=50,ms=300,under=513/$three"
[ ! -s said ] || fail "something was said"
refused -o stall-timeout=1s,low-speed-limit=10K "$origin/trickle,bytes=50,ms=300,under=513/$three"
said "less than low-speed-limit"
arrives -o stall-timeout=5s,low-speed-limit=0 "$origin/trickle,bytes=10,ms=100,under=513/$three"
[ ! -s said ] || fail "something was said"
