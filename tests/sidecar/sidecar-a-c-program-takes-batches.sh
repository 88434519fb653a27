#!/bin/sh
# SPDX-License-Identifier: MIT
# A C program that is built against the installed library, as pkg-config says, with the shared
# one and with the static one, takes all batches of a ring; and the library has no other names
# than shufflefs_....
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
requires pkg-config nm
cc=${CC:-cc}
[ -e "$build/Makefile" ] || skip "no build tree"
! has_sanitizer ||
    skip "a program would need the sanitizer's library"

MAKEFLAGS='' make -s -C "$build" install-libLTLIBRARIES install-pkgconfigDATA install-shufflefsincludeHEADERS \
    DESTDIR="$work/root" >installed 2>&1 || fail "$(cat installed)"
pc=$(find root -name shufflefs-ring.pc)
lib=$(dirname "$(find root -name libshufflefs-ring.so)")
PKG_CONFIG_PATH=$work/$(dirname "$pc") PKG_CONFIG_SYSROOT_DIR=$work/root
export PKG_CONFIG_PATH PKG_CONFIG_SYSROOT_DIR
other=$(nm -D --defined-only "$lib/libshufflefs-ring.so" | grep -v ' T shufflefs_ring_') || :
[ -z "$other" ] || fail "the library has $other"

make_shards data --shards 1 --samples 40
for how in shared static; do
    # shellcheck disable=SC2046,SC2086
    $cc "$top/examples/ring.c" -o $how $([ $how = shared ] || echo -static) \
        $(pkg-config --cflags --libs $([ $how = shared ] || echo --static) shufflefs-ring)
    "$build/shufflefs-sidecar" send data/*.tar local:ring --fields 'cls:bytes,16' --batch 16 &
    LD_LIBRARY_PATH=$lib ./$how ring >$how.out || fail "$how: $(cat $how.out)"
    wait $!
    [ "$(grep -c '^batch ' $how.out)" = 3 ] || fail "$how: $(cat $how.out)"
done
cmp shared.out static.out
