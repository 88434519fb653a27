#!/bin/sh
# SPDX-License-Identifier: MIT
# A name with two addresses: both get requests.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
requires_root
unshare --mount true 2>/dev/null || skip "no mount namespaces here"

make_shards shards --shards 24 --samples 4
start_nginx shards
sed -i "s/listen 127.0.0.1:\([0-9]*\);/listen 127.0.0.1:\1; listen 127.0.0.2:\1;/" nginx-run/nginx.conf
nginx -p nginx-run -c nginx.conf -e stderr -s reload
port=${nginx##*:}
wait_until 20 "$python" -c "import socket; socket.create_connection(('127.0.0.2', $port), 1)" 2>/dev/null

printf '127.0.0.1 shards.test\n127.0.0.2 shards.test\n' >hosts
unshare --mount sh -c 'mount --bind hosts /etc/hosts && exec "$@"' - \
    "$shufflefs" cat "http://shards.test:$port/train-{000000..000023}.tar" epochs/0.tar >got.tar
"$shufflefs" cat shards epochs/0.tar | cmp - got.tar || fail "other bytes"
for address in 127.0.0.1 127.0.0.2; do
    grep -q "\"address\": \"$address\"" "origin-log.$n_origins" || fail "nobody asked $address"
done
