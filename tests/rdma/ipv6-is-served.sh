# SPDX-License-Identifier: MIT
# Over IPv6 the same batches arrive, and a peer is shown as [ADDRESS]:PORT.  "*" takes senders over
# IPv4 and IPv6, also where net.ipv6.bindv6only is set and with a device's name; of a host's addresses
# a sender tries one after the other.
. "$top/tests/rdma/functions.sh"
v6='[2001:db8:77::1]'
interface=$(ip -o -4 addr show | sed -n "s/^[0-9]*: \([^ ]*\) *inet $ADDRESS.*/\1/p")
ip addr add 2001:db8:77::1/64 dev "$interface" nodad
until_so sh -c 'grep -qs 2001:0db8:0077 /sys/class/infiniband/rxe0/ports/1/gids/*'

at=$v6:0
recv
"$peer" version "$url" >said || fail "the peer: $(cat said)"
grep -q '://\[2001:db8:77::1\]:[0-9]*: \[2001:db8:77::1\]:[0-9]*: refused: ' recv.log || fail "$(cat recv.log)"
drain_to got
send "$data/many.tar" "$url" 2>send.log || fail "send"
wait $trainer || fail "the trainer"
wait $receiver || fail "recv"
has_all got

# (The first one is this host's, and no RDMA device has it.)
ip addr add 2001:db8:78::1/128 dev lo nodad
printf '2001:db8:78::1 twin\n%s twin\n' "$ADDRESS" >>/etc/hosts
[ "$(getent ahosts twin | head -n 1 | cut -d' ' -f1)" = 2001:db8:78::1 ] || fail "$(getent ahosts twin)"
echo 1 >/proc/sys/net/ipv6/bindv6only
at='*:7476?device=rxe0'
recv --senders 3
drain_to got
i=0
senders=
for host in "$v6" "$ADDRESS" twin; do
    send "$data/part-$i.tar" "rdma://$host:7476" 2>send-$i.log &
    senders="$senders $!"
    i=$((i + 1))
done
for sender in $senders; do
    wait "$sender" || fail "send"
done
wait $trainer || fail "the trainer"
wait $receiver || fail "recv"
has_all got
echo 0 >/proc/sys/net/ipv6/bindv6only
ip addr del 2001:db8:77::1/64 dev "$interface"
