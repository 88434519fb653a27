#!/bin/sh
# SPDX-License-Identifier: MIT
# A folder includes only the folders that src/layers.txt allows it, and no two modules include
# each other; each third-party header is in the one place that the table names; every folder
# says what it is for.  And the script that proves it can fail.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"

"$python" "$top/scripts/check-layers" "$top"

mkdir tree
cp -r "$top/src" "$top/fusefs" "$top/sidecar" "$top/rdma" "$top/include" tree/
chmod -R u+w tree
"$python" "$top/scripts/check-layers" tree
# must_fail REGEX FILE: what was done to FILE is seen, and undone
must_fail() {
    ! "$python" "$top/scripts/check-layers" tree >said || fail "not seen: $1"
    grep -q -e "$1" said || fail "no '$1' in: $(cat said)"
    cp "$top/$2" "tree/$2"
}
echo '#include "stream/stream.h"' >>tree/src/order/order.c
must_fail 'order.c: order may not include stream/stream.h' src/order/order.c
echo '#include "order/name.h"' >>tree/src/order/order.h
must_fail 'a circle: .*src/order/order -> src/order/name\|a circle: .*src/order/name -> src/order/order' src/order/order.h
echo '#include <curl/curl.h>' >>tree/src/cli/cat.c
must_fail '<curl/curl.h> belongs in src/source/http/curl-' src/cli/cat.c
echo '#include "transport/wire.h"' >>tree/sidecar/decode/spec.c
must_fail 'spec.c: ../sidecar/decode may not include transport/wire.h' sidecar/decode/spec.c
echo '#include <zmq.h>' >>tree/sidecar/transport/local.c
must_fail '<zmq.h> belongs in sidecar/transport/zmq-' sidecar/transport/local.c
echo '#include <pthread.h>' >>tree/src/tar/key.c
must_fail '<pthread.h>, but tar is pure' src/tar/key.c
rm tree/src/tar/README.md
must_fail 'src/tar/README.md: ' src/tar/README.md
yes | head -11 >tree/src/tar/README.md
must_fail 'more than ten lines' src/tar/README.md
mkdir tree/src/stray
echo 'int x;' >tree/src/stray/stray.c
must_fail 'stray is not in src/layers.txt' src/tar/README.md
