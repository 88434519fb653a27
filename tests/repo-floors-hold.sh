#!/bin/sh
# SPDX-License-Identifier: MIT
# No file includes what stands above it; each third-party header is in the one place that
# src/floors.txt names.  And the script that proves it can fail.
. "${srcdir:-$(dirname "$0")/..}/tests/functions.sh"

"$python" "$top/scripts/check-floors" "$top"

mkdir tree
cp -r "$top/src" "$top/fusefs" tree/
must_fail() {
    ! "$python" "$top/scripts/check-floors" tree >said || fail "not seen: $1"
    grep -q "$1" said || fail "no '$1' in: $(cat said)"
}
chmod -R u+w tree
echo '#include "stream.h"' >>tree/src/order.c
must_fail 'order.c (floor 3): "stream.h" is on floor 4'
cp "$top/src/order.c" tree/src/
echo '#include <curl/curl.h>' >>tree/src/cat.c
must_fail '<curl/curl.h> belongs into src/fetch.c'
cp "$top/src/cat.c" tree/src/
echo '#include <pthread.h>' >>tree/src/key.c
must_fail '<pthread.h> on floor 1, which is pure'
cp "$top/src/key.c" tree/src/
echo 'int x;' >tree/src/stray.c
must_fail 'stray.c: on no floor'
