#!/bin/sh
# SPDX-License-Identifier: MIT
# Where the shell limits the stack (ulimit -s), the limit is raised, also for the threads of
# libraries; where that is not allowed, one line says what is needed.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
requires_fuse
has_sidecar && other=$build/shufflefs-sidecar || other=$shufflefs
# With 64 KiB there is room for 16 of arguments and environment, where make puts its list of tests.
unset TESTS TEST_LOGS MAKEFLAGS MAKEOVERRIDES MFLAGS

# limited KIB COMMAND...: the limit may be raised again.
limited() {
    limit=$1
    shift
    sh -c 'ulimit -S -s "$0" && exec "$@"' "$limit" "$@"
}

make_shards data --shards 3 --samples 20
"$shufflefs" cat data epochs/0.tar >want.tar
mkdir mnt
for limit in 64 100 500; do
    limited $limit "$shufflefs" cat data epochs/0.tar >got.tar || fail "cat with $limit KiB"
    same want.tar got.tar
    limited $limit "$shufflefs" mount data mnt || fail "mount with $limit KiB"
    same want.tar mnt/epochs/0.tar
    cmp data/train-000001.tar mnt/shards/train-000001.tar || fail "shards with $limit KiB"
    umount_ds mnt
done

# For good: who may not raise it.
for command in "$shufflefs cat data epochs/0.tar" "$shufflefs mount data mnt" "$other --version"; do
    sh -c 'ulimit -s 64 && exec "$@"' sh $command >got.tar 2>said && status=0 || status=$?
    [ $status -le 1 ] || fail "$command: status $status: $(cat said)"
    [ $status = 0 ] || grep -q "^shufflefs.*: the limit of the stack is 64 KiB.*ulimit -s" said ||
        fail "$command: $(cat said)"
    [ $status = 0 ] || [ "$(wc -l <said)" = 1 ] || fail "more than a line: $(cat said)"
done
if mountpoint -q mnt; then umount_ds mnt; fi
