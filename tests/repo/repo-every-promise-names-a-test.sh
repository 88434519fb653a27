#!/bin/sh
# SPDX-License-Identifier: MIT
# What docs/SEMANTICS.md promises is proved by tests that exist.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"

grep -o '`tests/[^`]*`' "$top/docs/SEMANTICS.md" | tr -d '`' | sort -u >named
[ "$(wc -l <named)" -gt 10 ] || fail "SEMANTICS.md names hardly a test"
while read -r test; do
    [ -e "$top/$test" ] || [ -e "$top/$test.c" ] || fail "SEMANTICS.md names $test, which is not there"
done <named
