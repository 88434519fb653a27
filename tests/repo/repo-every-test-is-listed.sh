#!/bin/sh
# SPDX-License-Identifier: MIT
# A test that tests/files.mk does not list would never run.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"

"$python" "$top/scripts/list-tests" --check
mkdir -p tree/tests tree/scripts
cp "$top/scripts/list-tests" tree/scripts/
cp "$top/tests/files.mk" tree/tests/
! "$python" tree/scripts/list-tests --check 2>said || fail "nothing was missed"
grep -q 'run scripts/list-tests' said
