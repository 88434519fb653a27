#!/bin/sh
# SPDX-License-Identifier: MIT
# rdma:// over scripted verbs, which are TCP: tests of tests/rdma, which run over real verbs in a
# virtual machine, hold here as well.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
export SHUFFLEFS_PLUGINS="$build/tests/lib/scripted" VERBS_PEER="$build/tests/lib/scripted/verbs-peer"
[ -e "$SHUFFLEFS_PLUGINS/rdma.so" ] || skip "built without libibverbs"
export top build data="$work" ADDRESS=127.0.0.1
"$python" "$top/tests/lib/rdma-data.py" .
for test in \
    a-failed-sender-ends-the-ring-at-once \
    a-wrong-key-hurts-nobody \
    batches-are-those-of-local \
    only-who-has-the-secret-sends; do
    echo $test
    mkdir $test
    (cd $test && sh "$top/tests/rdma/$test.sh") || fail $test
done
