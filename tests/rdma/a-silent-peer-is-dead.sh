# SPDX-License-Identifier: MIT
# A receiver that is stopped (SIGSTOP) is silent, though its queue pair lives: the sender takes it
# for dead after 10 s, and when it goes on, the rest arrives, each batch once.
. "$top/tests/rdma/functions.sh"
drain_to wanted
send "$data/many.tar" local:ring
wait $trainer || fail "local"
recv
drain_to got --again 5000
send "$data/many.tar" "$url" 2>send.log &
sender=$!
until_so grep -q batch got
kill -STOP $receiver
until_so grep -q 'the receiver was silent for 10 s; connecting again' send.log
kill -CONT $receiver
wait $sender || fail "send"
wait $trainer || fail "the trainer"
wait $receiver || fail "recv"
cmp wanted got || fail "others"
