#!/bin/sh
# SPDX-License-Identifier: MIT
# The bytes of an epoch do not depend on memory, connections or threads; and the process
# never has more in memory than the budget and 64 MiB, which is less than the dataset.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"

make_shards data --shards 60 --samples 80 --bytes 30000 --restart-keys --odd --format webdataset

# epoch BUDGET OPTIONS: to got.tar, and no more than that in memory.
cat >epoch.py <<'EOF'
import os, subprocess, sys
program, budget, options = sys.argv[1:]
with open("got.tar", "wb") as out:
    cat = subprocess.Popen([program, "cat", "-o", "budget=%sM,%s" % (budget, options),
                            "data", "epochs/1.tar"], stdout=out)
    _, status, usage = os.wait4(cat.pid, 0)
most = usage.ru_maxrss // 1024
print("budget %s MiB, %s: at most %d MiB in memory" % (budget, options, most))
if status != 0:
    sys.exit("status %d" % status)
if most > int(budget) + 64 and os.environ.get("WITH_SANITIZER", "no") in ("", "no"):
    sys.exit("that is more than the budget and 64 MiB")
EOF
epoch() {
    "$python" epoch.py "$shufflefs" "$@" || fail "budget=$1,$2"
}

order="seed=9,lanes=48,buffer=3M"
"$shufflefs" cat -o $order data epochs/1.tar >wanted.tar
[ "$(wc -c <wanted.tar)" -gt $(((64 + 64) * 1048576)) ] || fail "the dataset is too small to tell"
epoch 22 $order
same wanted.tar got.tar
epoch 30 $order,connections=1
same wanted.tar got.tar
epoch 64 $order,connections=3
same wanted.tar got.tar
epoch 1024 $order,connections=64
same wanted.tar got.tar

# A buffer much larger than the budget: samples are fetched one by one, when due.
order="lanes=4,buffer=1G"
epoch 4096 $order
mv got.tar wanted.tar
for budget in 16 64; do
    epoch $budget $order
    same wanted.tar got.tar
done
