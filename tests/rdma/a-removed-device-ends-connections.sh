# SPDX-License-Identifier: MIT
# The device of both ends is removed while batches flow: both say so at once, and wait for
# another.  (The driver of soft-RoCE waits in turn until no process uses the device, so they are
# killed here.)  When it is there again, and they were started anew, the rest arrives, each batch
# once.
. "$top/tests/rdma/functions.sh"
drain_to wanted
send "$data/many.tar" local:ring
wait $trainer || fail "local"
at=$ADDRESS:7473
recv
drain_to got --again 5000
"$sidecar" send "$data/many.tar" "$url" --fields "$fields" --batch 4 2>send.log &
sender=$!
until_so grep -q batch got
rdma link delete rxe0 &
deletion=$!
until_so grep -q 'the RDMA device was removed' recv.log
until_so grep -q 'connecting again' send.log
kill -9 $receiver $sender
wait $deletion || fail "the device cannot be removed"
sh /run/rxe || fail "no device"
recv
send "$data/many.tar" "$url" 2>send.log || fail "send"
wait $trainer || fail "the trainer"
wait $receiver || fail "recv"
cmp wanted got || fail "others"
