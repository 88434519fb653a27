#!/bin/sh
# SPDX-License-Identifier: MIT
# Shards of odd members, made at random, of all dialects, sound, refused and damaged, have the
# samples and the bytes that docs/ORDER.md says, and so an independent script.  For more of
# them: ODD_TARS_ROUNDS=5000; to repeat some: ODD_TARS_SEED=7.
. "${srcdir:-$(dirname "$0")/..}/tests/functions.sh"

# shellcheck disable=SC2086 # the seed may be none
"$python" "$top/tests/odd-tars.py" "$shufflefs" "${ODD_TARS_ROUNDS:-60}" ${ODD_TARS_SEED:-}
