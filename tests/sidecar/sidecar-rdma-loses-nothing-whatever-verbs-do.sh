#!/bin/sh
# SPDX-License-Identifier: MIT
# A trainer gets each of 84 batches once, in order, over rdma://, although the connection breaks
# before any work request or after it, work requests cannot be posted, the device of either end is
# removed, and calls of the connection manager fail.  Memory that cannot be registered ends both
# with a line.  Over scripted verbs.  $VERBS_ROUNDS rounds, 6 by default; $SEED repeats them.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
sidecar=$build/shufflefs-sidecar
export SHUFFLEFS_PLUGINS="$build/tests/lib/scripted"
[ -e "$SHUFFLEFS_PLUGINS/rdma.so" ] || skip "built without libibverbs"
seed=${SEED:-$test_seed}
rounds=${VERBS_ROUNDS:-6}
echo "SEED=$seed VERBS_ROUNDS=$rounds"
fields='img:raw,u1,3x16x16;cls'
"$python" "$top/tests/lib/rdma-data.py" .

drain() {
    "$build/tests/lib/ring-drain" --again 20000 ring >got 2>drain.log &
    trainer=$!
}
drain
"$sidecar" send part-0.tar local:ring --fields "$fields" --batch 16
wait $trainer || fail "local: $(cat drain.log)"
mv got wanted
[ "$(grep -c ^batch wanted)" = 84 ] || fail "$(grep -c ^batch wanted) batches"

# try RECEIVER SENDER: what fails at each; $url, $receiver, $sender.
begin() {
    rm -f recv.log
    echo "recv: $1; send: $2"
    SCRIPTED_VERBS=$1 "$sidecar" recv rdma://127.0.0.1:0 --ring ring --slots 3 2>recv.log &
    receiver=$!
    wait_until 60 grep -q 'senders on' recv.log
    url=$(sed -n 's/.*senders on //p' recv.log)
    drain
    SCRIPTED_VERBS=$2 "$sidecar" send part-0.tar "$url" --fields "$fields" --batch 16 --slots 2 2>send.log &
    sender=$!
}
said() {
    tail -n 20 send.log recv.log drain.log
}
try() {
    begin "$1" "$2"
    wait $sender || fail "send ($1; $2): $(said)"
    wait $receiver || fail "recv ($1; $2): $(said)"
    wait $trainer || fail "the trainer ($1; $2): $(said)"
    cmp got wanted || fail "recv with $1, send with $2: $(said)"
}

"$python" - "$seed" "$rounds" >rounds <<'END'
import random, sys
rng = random.Random(int(sys.argv[1]))
def at(fault):
    return "%s@%d" % (fault, rng.choice([1, 2, 3, rng.randrange(4, 20), rng.randrange(20, 180)]))
def some(faults):
    return " ".join([at(f) for f in rng.sample(faults, rng.randint(1, len(faults)))] + rng.choice([[], ["padded"]]))
faults = ["cut", "unheard", "full"]
print("removed@%d/%s" % (rng.randrange(1, 60), at("unheard")))
print("%s/%s" % (at("cut"), at("removed")))
for i in range(int(sys.argv[2])):
    ends = [some(faults), some(faults)]
    if i % 3 == 1:
        ends = ["random:%d:80" % rng.randrange(1 << 31), "padded random:%d:80" % rng.randrange(1 << 31)]
    elif i % 3 == 2:
        ends[rng.randrange(2)] = "padded"
    print("/".join(ends))
END
while IFS=/ read -r receiver sender; do
    try "$receiver" "$sender"
done <rounds

# The first is of messages, the second of the batches.
for script in 'reg_mr#1' 'reg_mr#2'; do
    begin '' "$script"
    ! wait $sender || fail "send goes on without memory"
    grep -q 'cannot register [0-9]* bytes with scripted0' send.log || fail "$(said)"
    kill $receiver $trainer
    wait $receiver || :
    wait $trainer || :
    rm -f ring ring.*
done
