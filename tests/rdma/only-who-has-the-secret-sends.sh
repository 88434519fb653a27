# SPDX-License-Identifier: MIT
# recv listens only with --secret-file or --insecure; with a secret, batches come from a sender that
# has it. Others are told why, counted, and cannot write, even with the ring's key; seventy
# half-open handshakes keep out nobody.
. "$top/tests/rdma/functions.sh"
umask 077
echo "a secret that both ends have" >secret
echo "a secret that the others have" >other
! timeout 60 "$sidecar" recv "rdma://*:0" --ring ring 2>said || fail "it listens"
grep -q 'anyone who can reach this address could feed the trainer: add --secret-file' said || fail "$(cat said)"

secret=secret
recv
"$peer" stranger "$url" >said 2>&1 || fail "the peer: $(cat said)"
sed -n 1p said | grep -q 'the peer is not a shufflefs-sidecar' || fail "a LAYOUT for a PROOF: $(cat said)"
sed -n 2p said | grep -q "sender and recv have different secrets" || fail "a wrong PROOF: $(cat said)"
sed -n 3p said | grep -q 'remote access error\|remote invalid request' || fail "a write without a PROOF: $(cat said)"
kill $receiver
wait $receiver || :

recv --metrics m.prom
! timeout 60 "$sidecar" send "$data/many.tar" "$url" --fields cls 2>said || fail "none was taken"
grep -q 'recv has a secret, and the sender has none: start it with --secret-file' said || fail "$(cat said)"
! timeout 60 "$sidecar" send "$data/many.tar" "$url" --fields cls --secret-file other 2>said || fail "another was taken"
grep -q "sender and recv have different secrets: compare the files of --secret-file" said || fail "$(cat said)"
[ ! -e ring ] || fail "a stranger made a ring"
mkfifo stop
"$peer" silent "$url" <stop >silent 2>peer.log &
peer=$!
exec 9>stop
until grep -q silent silent; do
    kill -0 $peer 2>/dev/null || fail "the peer: $(cat peer.log)"
    sleep 0.1
done
drain_to got
send "$data/many.tar" "$url" --secret-file secret 2>send.log || fail "the one with the secret"
wait $trainer || fail "the trainer"
wait $receiver || fail "recv"
exec 9>&-
has_all got
n=$(sed -n 's/^shufflefs_sidecar_refused_connections_total{.*} //p' m.prom)
[ "$n" -ge 8 ] || fail "$n were counted"

secret=
recv
! timeout 60 "$sidecar" send "$data/many.tar" "$url" --fields cls --secret-file secret 2>said || fail "to a receiver without"
grep -q 'the sender has a secret, and recv has none: start it with --secret-file' said || fail "$(cat said)"
kill $receiver
wait $receiver || :
