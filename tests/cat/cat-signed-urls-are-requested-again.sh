#!/bin/sh
# SPDX-License-Identifier: MIT
# A redirect to a signed URL is followed again when the signature has expired.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"

good_shards
start_origin shards
arrives "$origin/redirect,to=other,uses=1/$three"
[ "$(grep -c '"path": "/redirect' origin-log.1)" -ge 6 ] || fail "not asked anew"
not_said lost
arrives "$origin/redirect,uses=2/$three"
not_said lost

# One that is of no use at all is an error, which shows no signature.
refused "$origin/redirect,to=other,uses=0/$three"
said "HTTP 403"
not_said "signature=t"
