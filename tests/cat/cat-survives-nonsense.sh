#!/bin/sh
# SPDX-License-Identifier: MIT
# What is no HTTP at all, or ends within the headers, is asked for again, and an error in
# the end; an unknown header is ignored, and one without an end an error.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"

good_shards
start_origin shards
for fault in garbage cut,head rst,head; do
    arrives "$origin/$fault,over=1000,times=1/$three"
    # What is no head at all is asked for again by libcurl, without a word.
    [ $fault = garbage ] || said "retry: train-00000[0-2].tar @ [0-9]*: "
    # Where there is a .netrc, libcurl asks at once.
    : >"$HOME/.netrc"
    arrives "$origin/$fault,libcurl,over=1000,times=1/$three"
    rm "$HOME/.netrc"
    said "retry: train-00000[0-2].tar @ [0-9]*: "
    breaks $brief "$origin/$fault,over=1000,only=*1.tar/$three"
    said "lost: train-000001.tar @ 0: "
done
refused "$origin/garbage/$three"
said "train-000000.tar: "

arrives "$origin/hugeheader,bytes=20000/$three"
[ ! -s said ] || fail "something was said"
refused "$origin/hugeheader,bytes=10000000/$three"
breaks "$origin/hugeheader,bytes=10000000,over=1000,only=*1.tar/$three"
said "lost: train-000001.tar @ 0: "
