# SPDX-License-Identifier: MIT
# Who writes with a key that nobody gave loses its connection, and what others send arrives.
. "$top/tests/rdma/functions.sh"
recv
"$peer" rkey "$url" >said || fail "the peer: $(cat said)"
grep -q 'remote access error' said || fail "$(cat said)"
! send "$data/many.tar" "$url" 2>said || fail "another layout was taken"
grep -q 'refused: its batches do not have the layout of the ring' said || fail "$(cat said)"
kill $receiver
wait $receiver || :
