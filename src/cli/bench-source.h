/* SPDX-License-Identifier: MIT */
/* bench-source - how fast the source of a dataset is, alone. */
#ifndef SFS_BENCH_SOURCE_H
#define SFS_BENCH_SOURCE_H

#include "base/error.h"
#include "cli/bench.h"

#include <stdbool.h>

/* Measure how soon shards respond, and how fast their sizes arrive.  Unless `only_reach`,
 * then read parts of shards, in the order in which epoch 0 gives them to its lanes, with
 * as many requests in flight as a stream has, into memory that is reused at once.
 *
 * Fills the dataset, the reach and the source in *facts; the caller frees facts->dataset.
 * Starts an engine of its own, and stops it.  Waits.  < 0: with an error. */
int sfs_bench_source(const struct sfs_bench_run *run, bool only_reach,
		     struct sfs_bench_facts *facts, struct sfs_error *err);

#endif
