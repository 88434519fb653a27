# SPDX-License-Identifier: MIT
# A peer of another version, and one that is none of ours, is told so in one line, by either end.
. "$top/tests/rdma/functions.sh"
recv
"$peer" version "$url" >said || fail "the peer: $(cat said)"
grep -q 'the sender speaks version 99 of the protocol, and this is version 2' recv.log || fail "recv"
grep -q 'the sender speaks version 99 of the protocol' said || fail "$(cat said)"
port=${url##*:}
timeout 10 rping -c -a "$ADDRESS" -p "$port" -C 1 >rping.log 2>&1 || :
until_so grep -q 'the peer is not a shufflefs-sidecar' recv.log
drain_to got
send "$data/many.tar" "$url" 2>send.log || fail "then one of ours is not served"
wait $receiver || fail "recv"
has_all got

"$peer" listen rdma://$ADDRESS:7472 >listens &
until_so grep -q listens listens
! send "$data/many.tar" rdma://$ADDRESS:7472 2>said || fail "taken"
grep -q 'the receiver speaks version 99 of the protocol, and this is version 2; install' said || fail "$(cat said)"
