#!/bin/sh
# SPDX-License-Identifier: MIT
# Nothing but src/base/cond.c waits with a deadline, and nothing makes one of the wall clock: a
# clock that is set back by an hour must not make anybody wait for an hour.
# And the sidecar takes no difference of two times by hand, which might be less than nothing.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"

cd "$top"
! grep -nE 'pthread_(cond|mutex|rwlock)_(timed|clock)(wait|lock|rdlock|wrlock)|sem_(timed|clock)wait|pthread_condattr' \
    -r src fusefs sidecar rdma --include=*.[ch] | grep -v -e '^src/base/cond\.[ch]:' -e '^src/base/lock\.c:' ||
    fail "waits with a deadline of its own: sfs_cond_wait_until() is for that"
! grep -nE 'CLOCK_REALTIME|gettimeofday' -r src fusefs sidecar rdma --include=*.[ch] | grep -v -e '^src/base/clock\.c:' -e 'cpu_clock' ||
    fail "looks at the wall clock: src/base/clock.h has what is for people"
! grep -nE '(\<now(_ns)?|sfs_clock_ns\(\)) - |\* SFS_NS_PER_MS [<>]|[<>]=? [a-z_>.-]+ \* SFS_NS_PER_MS' -r sidecar rdma --include=*.[ch] ||
    fail "subtracts times: sfs_clock_between() and sfs_clock_is_over() are for that"
