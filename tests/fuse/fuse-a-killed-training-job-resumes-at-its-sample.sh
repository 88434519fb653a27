#!/bin/sh
# SPDX-License-Identifier: MIT
# A job of torch ranks and loader workers (examples/train.py) that is killed with batches in
# flight, again and again, goes on at its sample, with another number of ranks too: it trains
# on each sample of each epoch once, in the epoch's order, and its model becomes that of a
# job that nobody killed.  $TRAINING_JOBS: which of the two, torn and odd.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
requires_fuse
requires_torch
requires pgrep setsid
! has_sanitizer ||
    skip "most of it is torch, and takes a minute: once, without sanitizers, is enough"

# (Of an epoch of 469, the last step of 12 is a single sample: one rank has it, the others
# have none.)
epochs=4
n_samples=469
"$python" "$top/scripts/make-dataset" data --shards 7 --samples 67 --pixels 48
mount_ds -o segment=64K,lanes=24 data mnt

# start OUT RANKS WORKERS BATCH: a job, in a process group of its own.
start() {
    setsid "$python" "$top/examples/train.py" --epochs=$epochs --nproc="$2" --workers="$3" \
        --batch="$4" --double mnt "$1" >>"said-$1" 2>&1 &
    job=$!
    cleanup "kill -s KILL -- -$job 2>/dev/null"
}

# ends OUT RANKS WORKERS BATCH: such a job comes to its end.
ends() {
    start "$@"
    wait $job || fail "$1 with $2 ranks: $(tail -30 "said-$1")"
}

# random: a number below 2^32, another one each time, the same ones for one $test_seed.
random() {
    echo "$test_seed $at" | cksum | cut -d " " -f 1
}
at=0

logged() {
    [ "$(cat "$1"/rank-*.log 2>/dev/null | wc -l)" -ge "$2" ]
}

# is_killed OUT RANKS WORKERS BATCH LEAST MOST: all of it at once, when it has logged so many
# samples more than there are (on a busy machine, many more than it was to have).
is_killed() {
    at=$(($(cat "$1"/rank-*.log 2>/dev/null | wc -l) + $5 + $(random) % ($6 - $5)))
    start "$@"
    wait_until 120 logged "$1" $at
    kill -s KILL -- -$job || fail "the job ended before it was killed: $(cat "said-$1")"
    wait $job 2>/dev/null || true
    wait_until 20 sh -c "! pgrep -g $job -r D,R,S"
    echo "$1: $2 ranks of $3 workers were to be killed at $at, and were at $(cat "$1"/rank-*.log | wc -l)"
}

ends whole 2 2 12
is_killed torn 2 2 12 1 250
is_killed torn 2 2 12 50 200
is_killed torn 4 4 12 50 200
is_killed torn 3 3 12 50 200
ends torn 4 1 12

# Ranks that go on at unequal samples: not all their numbers divide what steps of 10 have done.
jobs=${TRAINING_JOBS:-torn odd}
case $jobs in *odd*)
    is_killed odd 2 1 10 50 200
    is_killed odd 4 2 4 50 200
    is_killed odd 3 2 15 50 200
    ends odd 8 0 24
    ;;
esac

for out in $jobs; do
    [ "$(grep -c 'going on in epoch' said-$out)" -ge 3 ] || fail "$(cat said-$out)"
done

for e in $(seq 0 $((epochs - 1))); do
    tar tf mnt/epochs/$e.tar | sed 's/\.[^.]*$//' | uniq | awk -v e="$e" '{ print e, NR - 1, $0 }'
done >want
[ "$(wc -l <want)" = $((epochs * n_samples)) ] || fail "the epochs hold $(wc -l <want) samples"
for out in whole $jobs; do
    cat $out/rank-*.log | sort -k1,1n -k2,2n >trained
    diff want trained >differences || fail "wrong samples in $out: $(head -20 differences)"
done

# Other ranks sum up in another order, and training makes what is rounded away grow: so in 64 bits.
"$python" - <<'END' || fail "the models differ"
import torch
whole, torn = (torch.load(out + "/checkpoint.pt")["model"] for out in ("whole", "torn"))
for name in whole:
    print(name, (whole[name] - torn[name]).abs().max().item(), "apart of", whole[name].abs().max().item())
    assert torch.allclose(whole[name], torn[name], rtol=1e-6, atol=1e-9)
END
umount_ds mnt

# Where ranks do not take turns, it does not begin.
for segment in shard random; do
    mount_ds -o segment=$segment,lanes=24 data mnt
    ! "$python" "$top/examples/train.py" --nproc=1 mnt refused >said 2>&1 || fail "it trains on segment=$segment"
    grep -q "with segment=$segment, a job can resume only with the same number of ranks" said || fail "$(cat said)"
    umount_ds mnt
done
