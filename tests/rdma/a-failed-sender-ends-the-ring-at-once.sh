# SPDX-License-Identifier: MIT
# When a sender fails, trainers get the batches before and then its own sentence, without waiting
# for --give-up.
. "$top/tests/rdma/functions.sh"
recv --give-up 1000
drain_to got
if send "$data/bad.tar" "$url" 2>send.log; then fail "a broken sample was sent"; fi
if wait $receiver; then fail "a failed sender was an end"; fi
if wait $trainer; then fail "the trainer saw an end"; fi
grep -q "sender 0 (.*) has failed: sample 100 ('000100') of epoch 0: field 'cls'" drain.log ||
    fail "the trainer: $(cat drain.log)"
sed -n 's/^row .* //p' got | sort -n >numbers
seq 0 99 | cmp - numbers || fail "the batches before are not those"
