#!/bin/sh
# SPDX-License-Identifier: MIT
# A shard whose ETag differs in any way from the one that it had is ESTALE, never bytes of
# two versions: strong or weak, of any length, come or gone; with and without
# a Last-Modified, over our own connections and over libcurl's.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"

good_shards --samples 10
start_origin shards

strong_a=%22a%22 strong_b=%22b%22 weak_a=W%2F%22a%22 weak_b=W%2F%22b%22

# changes FAULT...: all tags are as these say.
changes() {
    for faults in "$@"; do
        breaks "$origin/$faults/$three"
        said "changed: train-000001.tar @ [0-9]*: .*its ETag was .*, is .*verify=size"
    done
}

# tag TAG WHEN: the fault by which that is the tag; "none" for none.
tag() {
    case $1 in
    none) echo "noetag$2" ;;
    *) echo "etag,is=$1,blind$2" ;;
    esac
}

pairs="$weak_a:$weak_b $strong_a:$weak_b $weak_b:$strong_a $strong_a:none none:$strong_a
$weak_a:none none:$weak_a $strong_a:$weak_a $strong_a,pad=300:$strong_b,pad=300
$weak_a,pad=5000:$weak_b,pad=5000 $strong_a,pad=300:none $strong_a,pad=300:$strong_a,pad=301"
for wire in ours libcurl; do
    [ $wire = ours ] || : >"$HOME/.netrc" # then libcurl makes all requests
    for pair in $pairs; do
        was=$(tag "${pair%%:*}" "") is=$(tag "${pair#*:}" ",after=1,only=*1.tar")
        changes "bare,$wire/$was/$is" "blind,$wire/$was/$is"
    done
    for tag in $weak_a $strong_a,pad=300 $weak_a,pad=5000; do
        arrives "$origin/bare,$wire/etag,is=$tag/$three"
        [ ! -s said ] || fail "something was said"
    done
done
