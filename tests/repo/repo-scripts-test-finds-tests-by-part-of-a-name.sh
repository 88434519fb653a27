#!/bin/sh
# SPDX-License-Identifier: MIT
# scripts/test takes tests by their names or by parts of these, and says when there is none.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"

# finds WANTED NAME...: these tests match.
finds() {
    wanted=$1
    shift
    found=$("$top/scripts/test" -n "$@" | tr '\n' ' ')
    [ "$found" = "$wanted " ] || fail "$*: $found"
}
finds tests/unit/base/unit-timer-fires-when-due unit-timer
finds tests/unit/base/unit-timer-fires-when-due tests/unit/base/unit-timer-fires-when-due.c
finds "tests/cat/cat-empty-shards.sh tests/unit/base/unit-timer-fires-when-due" unit-timer cat-empty-shards.sh timer-fires
[ "$("$top/scripts/test" -n clock | wc -l)" -ge 3 ] || fail "a part of several names"

# refused WORDS ARG...
refused() {
    words=$1
    shift
    status=0
    "$top/scripts/test" "$@" >out 2>said || status=$?
    [ $status = 2 ] || fail "exit status $status: $*"
    grep -q "^test: $words" said && [ "$(wc -l <said)" = 1 ] && [ ! -s out ] || fail "$*: $(cat said out)"
}
refused "no test has 'no-such-sentence' in its name" no-such-sentence
refused "no test has 'no-such-sentence' in its name" unit-timer no-such-sentence
refused "which test?"
export BUILD="$work/none"
refused "$work/none/ is not configured" unit-timer
