/* SPDX-License-Identifier: MIT */
/* bench - `shufflefs bench`: runs the stages, and reports. */
#ifndef SFS_BENCH_H
#define SFS_BENCH_H

#include "base/error.h"
#include "base/strbuf.h"
#include "cli/bench-report.h"
#include "config/options.h"

#include <stdbool.h>

struct sfs_bench_options {
	uint32_t seconds; /* of a stage, after its first byte */
	bool wants[SFS_BENCH_N_STAGES];
	bool as_json;
	struct sfs_strings mount; /* the arguments for a mount, but for its folder */
};

/* Measure, and append what was found to *text.  < 0: with an error; *text has what
 * could be measured before, if anything.  A signal that came while there was a mount ends
 * the process, when that has gone. */
int sfs_bench(struct sfs_options *options, const struct sfs_strings *specs,
	      const struct sfs_bench_options *wanted, struct sfs_strbuf *text,
	      struct sfs_error *err);

#endif
