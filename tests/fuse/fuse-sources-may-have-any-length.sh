#!/bin/sh
# SPDX-License-Identifier: MIT
# A source may be as long as a command line lets it be, and so may fsname=.  What `mount` and df
# show of it is its beginning, in whole characters.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
requires_fuse
requires_root # (shown is /proc/self/mounts)

make_shards one --shards 1 --samples 3 --bytes 300
mkdir data mnt
name_of() {
    printf 'a-shard-with-a-rather-long-name-\303\244-%06d' "$1"
}
for i in $(seq 0 299); do
    ln one/train-000000.tar "data/$(name_of "$i").tar"
done

# braces N: a source of N shards, by their names.
braces() {
    printf '%s/{' "$1"
    for i in $(seq 0 $(($2 - 1))); do
        [ "$i" = 0 ] || printf ,
        name_of "$i"
    done
    printf '}.tar'
}

# shown: the source of mnt, in whole characters.
shown() {
    awk -v m="$work/mnt" '$2 == m { print $1 }' /proc/self/mounts | "$python" -c '
import re, sys
shown = re.sub(rb"\\(\d{3})", lambda m: bytes([int(m[1], 8)]), sys.stdin.buffer.read()[:-1])
sys.stdout.write(shown.decode("utf-8"))'
}

# works N ARG...: N shards are mounted.
works() {
    n=$1
    shift
    mount_ds -o index-cache=no "$@" mnt
    [ "$(ls mnt/shards | wc -l)" = "$n" ] || fail "not $n shards"
    shown >source || fail "half a character is shown"
    [ "$(wc -c <source)" -le 1000 ] || fail "shown: $(cat source)"
    umount_ds mnt
}

# Some of these were cut off, for each place where the cut may be.
for n in 2 20 25 95 96 97 98 99 100 120 300; do
    works "$n" "$(braces data "$n")"
done
[ "$(cut -c 1-40 source)" = "$(braces data 300 | cut -c 1-40)" ] && grep -q '\.\.\.$' source ||
    fail "shown: $(cat source)"

# What is wrong with one is said, however long its name is.
long=$("$python" -c 'print("/".join(8 * ["x" * 200]))')
for source in "$long/a.tar" "http://127.0.0.1:9/$long/a.tar" "$(braces "$long" 300)"; do
    ! "$shufflefs" cat -o retries=0 "$source" epochs/0.tar >out 2>said || fail "read from nowhere"
    grep -q "^shufflefs: .* ... .*: \(No such file\|Failed to connect\|.*efused\|.*onnect\)" said ||
        fail "said: $(cat said)"
    [ "$(wc -c <said)" -lt 1200 ] && [ "$(wc -l <said)" = 1 ] || fail "said: $(cat said)"
done

start_origin data
works 300 "$(braces "$origin" 300)"

for s in , '\' ' ' ä €; do
    for n in 990 999 1000 1001 5000 30000; do
        works 300 -o "fsname=$("$python" -c '
import sys
print((sys.argv[1] * int(sys.argv[2])).replace("\\", "\\\\").replace(",", "\\,"))' "$s" "$n")" data
    done
done
