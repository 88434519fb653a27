#!/bin/sh
# SPDX-License-Identifier: MIT
# Whatever the shards, lanes and segments: an epoch has every sample once, its ranks in turn
# are the epoch, equal= makes them equally long, and going on with another number of ranks
# loses and repeats nothing.  What breaks that in the script is noticed.
. "${srcdir:-$(dirname "$0")/..}/tests/functions.sh"

"$python" "$top/tests/order-properties.py"

mkdir -p tree/tests tree/scripts
cp "$top/tests/order-properties.py" tree/tests/
# broken OLD NEW: in the script.
broken() {
    sed "s|$1|$2|" "$top/scripts/order.py" >tree/scripts/order.py
    ! cmp -s tree/scripts/order.py "$top/scripts/order.py" || fail "no $1 in the script"
    ! "$python" tree/tests/order-properties.py 50 >said 2>&1 || fail "not noticed: $2"
    grep -q "has not all properties" said || fail "$(cat said)"
}
broken 'lane < more' 'lane >= s.lanes - more'
broken 'key=lambda o: o\[:2\]' 'key=lambda o: (o[0], -o[1])'
broken 'sample.begin // segment' 'sample.begin // segment % 2'
broken 'n // w \* w,' 'n // w * w - w,'
broken 'order\[p % n\]' 'order[min(p, n - 1)]'
broken 'lane // w % n' 'lane % n'
