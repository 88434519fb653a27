# SPDX-License-Identifier: MIT
# 1000 batches over RDMA are, byte for byte and in order, those of local:; with CRCs, a short
# last batch, and more batches on their way than one.
. "$top/tests/rdma/functions.sh"
drain_to wanted
send "$data/many.tar" local:ring
wait $trainer || fail "local"
[ "$(grep -c ^batch wanted)" = 1000 ] || fail "$(grep -c ^batch wanted) batches"
recv
drain_to got
send "$data/many.tar" "$url" --crc 2>send.log || fail "send"
wait $trainer || fail "the ring"
wait $receiver || fail "recv"
cmp wanted got || fail "others"

drain_to wanted
"$sidecar" send "$data/many.tar" local:ring --fields "$fields" --batch 7
wait $trainer || fail "local"
recv
drain_to got
"$sidecar" send "$data/many.tar" "$url" --fields "$fields" --batch 7 2>send.log || fail "send"
wait $trainer || fail "the ring"
wait $receiver || fail "recv"
cmp wanted got || fail "others, where the last is short"
