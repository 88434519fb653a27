/* SPDX-License-Identifier: MIT */
/* bench-order - how fast the stream of an epoch is without a mount. */
#ifndef SFS_BENCH_ORDER_H
#define SFS_BENCH_ORDER_H

#include "base/error.h"
#include "cli/bench.h"

/* Fetch, scan and shuffle the epoch, and discard it.  Fills its rate, and what is known
 * of the samples then, in *facts.  Starts an engine of its own, so that it does not begin
 * warm, and stops it.  Waits.  < 0: with an error. */
int sfs_bench_order(const struct sfs_bench_run *run, uint64_t epoch,
		    struct sfs_bench_facts *facts, struct sfs_error *err);

#endif
