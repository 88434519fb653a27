/* SPDX-License-Identifier: MIT */
/* gauge - how fast a dataset's source is, and the order that is made of it, each measured
 * alone, for `shufflefs bench`.
 *
 * Each call starts a engine of its own and stops it, so that none begins where another
 * was warm already.  They wait, for some seconds after the first byte.
 */
#ifndef SFS_CLI_BENCH_H
#define SFS_CLI_BENCH_H

#include "base/error.h"
#include "base/progress.h"
#include "cli/bench-report.h"
#include "config/options.h"

#include <stdbool.h>
#include <stdint.h>

struct sfs_bench_run {
	struct sfs_options *options;
	const struct sfs_strings *specs;
	uint64_t wanted_ns; /* of each stage, after its first byte */
	struct sfs_progress progress;
};

/* How soon shards answer, how fast their sizes come; and unless it is `only_reach`, the
 * source alone: parts of shards, in the order in which epoch 0 deals them to its lanes,
 * as many at a time as a stream would ask for, into memory that is given back at once.
 * Fills what is said of the dataset, the reach and the source.  facts->dataset is the
 * caller's to free.  < 0: with a sentence. */
int sfs_bench_source(const struct sfs_bench_run *g, bool only_reach,
		     struct sfs_bench_facts *facts, struct sfs_error *err);

/* The stream of an epoch, without a mount: fetched, scanned, shuffled, and thrown away.
 * Fills its rate, and what is known of samples then.  < 0: with a sentence. */
int sfs_bench_order(const struct sfs_bench_run *g, uint64_t epoch,
		    struct sfs_bench_facts *facts, struct sfs_error *err);

/* What processors have worked so far, for this process and in all. */
struct sfs_cpu sfs_bench_cpu(void);

/* Show how far a stage is. */
void sfs_bench_show(const struct sfs_bench_run *g, enum sfs_bench_stage stage,
		    const struct sfs_ratemeter *meter);

#endif
