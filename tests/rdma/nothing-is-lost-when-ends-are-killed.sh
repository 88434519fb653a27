# SPDX-License-Identifier: MIT
# A trainer gets each of 1000 batches once, in order, although the sender and the receiver are
# killed with SIGKILL in turn, 20 times together, and started anew.
. "$top/tests/rdma/functions.sh"
drain_to wanted
send "$data/many.tar" local:ring
wait $trainer || fail "local"

# supervise NAME COMMAND...: again and again until it exits with 0.
supervise() {
    name=$1
    shift
    until
        "$@" 2>>$name.log &
        echo $! >$name.pid
        wait $!
    do
        sleep 0.02
    done
    touch $name.done
}

# may_take N: the trainer takes so many batches in all.  After a kill it may take 45 more, so neither
# end can be done before the last one (they are 1000), however slow this script is.
may_take() {
    echo $1 >upto.new
    mv upto.new upto
}

may_take 45
"$drain" --again 10000 --upto upto ring >got 2>drain.log &
trainer=$!
supervise receiver "$sidecar" recv rdma://$ADDRESS:7471 --insecure --ring ring &
supervise sender "$sidecar" send "$data/many.tar" rdma://$ADDRESS:7471 --fields "$fields" --batch 4 &
until_so grep -q batch got
n=0
while [ $n -lt 20 ]; do
    victim=sender
    [ $((n % 2)) = 0 ] || victim=receiver
    before=$(grep -c ^batch got)
    pid=$(cat $victim.pid)
    kill -9 $pid || fail "it ended before $n were killed"
    n=$((n + 1))
    may_take $(((n + 1) * 45))
    # It is started anew, and goes on.
    until_so sh -c "new=\$(cat $victim.pid) && [ \"\$new\" ] && [ \$new != $pid ]"
    until_so sh -c "[ \$(grep -c ^batch got) -ge $((before + 3)) ]"
done
[ ! -e sender.done ] || fail "it ended before the last kill"
may_take 1001 # and the end
wait $trainer || fail "the trainer"
until_so test -e sender.done
until_so test -e receiver.done
cmp wanted got || fail "others"
