#!/bin/sh
# SPDX-License-Identifier: MIT
# Shards of odd members, made at random, of all dialects, sound, refused and damaged, have the
# samples and the bytes that docs/ORDER.md says, and so an independent script.  Always the same
# ones, so that a change is what makes it fail; for others: ODD_TARS_ROUNDS=5000, ODD_TARS_SEED=7.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"

"$python" "$top/tests/lib/odd-tars.py" "$shufflefs" "${ODD_TARS_ROUNDS:-60}" "${ODD_TARS_SEED:-1}"
