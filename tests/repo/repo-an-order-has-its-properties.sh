#!/bin/sh
# SPDX-License-Identifier: MIT
# Whatever the shards, lanes and segments: an epoch has every sample once, its ranks in turn
# are the epoch, equal= makes them equally long, and going on with another number of ranks
# loses and repeats nothing.  What breaks that in the script is noticed.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"

"$python" "$top/tests/lib/order-properties.py"

mkdir -p tree/tests/lib tree/scripts
cp "$top/tests/lib/order-properties.py" tree/tests/lib/
cp "$top/scripts/order_tar.py" tree/scripts/
# broken OLD NEW: in the script.
broken() {
    sed "s|$1|$2|" "$top/scripts/order.py" >tree/scripts/order.py
    ! cmp -s tree/scripts/order.py "$top/scripts/order.py" || fail "no $1 in the script"
    ! "$python" tree/tests/lib/order-properties.py 50 >said 2>&1 || fail "not noticed: $2"
    grep -q "has not all properties" said || fail "$(cat said)"
}
broken 'lane < more' 'lane >= s.lanes - more'
broken 'key=lambda e: e\[:3\]' 'key=lambda e: (e[0], -e[1])'
broken 'sample.begin // segment' 'sample.begin // segment % 2'
broken 'm // w \* w,' 'm // w * w - w,'
broken 'order\[p % m\]' 'order[min(p, m - 1)]'
broken 'lane // w % n == i\]' 'lane % n == i]'
