# SPDX-License-Identifier: MIT
# Three senders fill one ring of 4 slots, one of them over a device that it names: each sample is
# there once.  A third sender to a ring of 2 slots is told that it
# has no place.
. "$top/tests/rdma/functions.sh"
recv --senders 3 --slots 4
drain_to got
senders=
for i in 0 1 2; do
    name=
    [ $i != 1 ] || name='?device=rxe0'
    send "$data/part-$i.tar" "$url$name" 2>send-$i.log &
    senders="$senders $!"
done
for sender in $senders; do
    wait "$sender" || fail "send"
done
wait $trainer || fail "the ring"
wait $receiver || fail "recv"
has_all got

recv --senders 3 --slots 2
mkfifo more-0 more-1
exec 8<>more-0 9<>more-1
head -c 20480 "$data/part-0.tar" >&8
head -c 20480 "$data/part-1.tar" >&9
send more-0 "$url" 2>hung-0.log &
send more-1 "$url" 2>hung-1.log &
until_so sh -c '[ "$(rdma resource show qp | grep -c "type RC")" -ge 4 ]'
! send "$data/part-2.tar" "$url" --give-up 1 2>said || fail "a third sender had a place"
grep -q 'its ring has 2 slots, and each sender needs one' said || fail "$(cat said)"
