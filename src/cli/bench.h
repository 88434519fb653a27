/* SPDX-License-Identifier: MIT */
/* bench - what the stages of `shufflefs bench` share: options, CPU times, progress. */
#ifndef SFS_CLI_BENCH_H
#define SFS_CLI_BENCH_H

#include "base/progress.h"
#include "cli/bench-report.h"
#include "config/options.h"

#include <stdint.h>

#define SFS_BENCH_LOOK_MS 100 /* between two looks at how far a stage is */

struct sfs_bench_run {
	struct sfs_options *options;
	const struct sfs_strings *specs;
	uint64_t wanted_ns; /* of each stage, after its first byte */
	struct sfs_progress progress;
};

/* CPU time used so far, by this process and by all. */
struct sfs_cpu sfs_bench_cpu(void);

/* Show how far a stage is. */
void sfs_bench_show(const struct sfs_bench_run *run, enum sfs_bench_stage stage,
		    const struct sfs_ratemeter *meter);

#endif
