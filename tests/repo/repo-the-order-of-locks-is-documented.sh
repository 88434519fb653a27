#!/bin/sh
# SPDX-License-Identifier: MIT
# The table of locks in ARCHITECTURE is src/base/locks.def's, which the checks of sanitizer builds
# go by; and no kind of lock or wait is used that these checks do not see.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"

cd "$top"
sed -n 's/^SFS_LOCK([A-Z_]*, "\([^"]*\)", "\([^"]*\)")$/| \1 | \2 |/p' src/base/locks.def >"$work/wanted"
[ "$(wc -l <"$work/wanted")" = "$(grep -c '^SFS_LOCK' src/base/locks.def)" ] || fail "a row of locks.def is not understood"
sed -n '/^## Locks$/,/^## Memory$/p' docs/ARCHITECTURE.md | grep -F '| ' >"$work/shown"
sed -n '/^| lock | what it guards |$/,$p' "$work/shown" | sed 1,1d >"$work/table"
diff "$work/wanted" "$work/table" || fail "ARCHITECTURE has another order of locks"
! grep -nE 'pthread_(mutex_try|rwlock_wrlock|rwlock_tryrd|spin_)' -r src fusefs sidecar rdma --include=*.[ch] |
    grep -v '^src/base/lock\.c' || fail "a lock that src/base/lock.c does not check"
