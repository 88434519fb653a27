/* SPDX-License-Identifier: MIT */
/* plan - `shufflefs plan`: how well settings shuffle, and what they cost, without a
 * mount.
 *
 * The quality (quality.h) of the real order: of epoch 0, and from epoch to epoch; the
 * memory of a stream, its connections and requests; with how many ranks a job may go on;
 * and other settings with less lift.  Or the cheapest settings that shuffle well enough.
 */
#ifndef SFS_PLAN_H
#define SFS_PLAN_H

#include "base/error.h"
#include "base/strbuf.h"
#include "config/options.h"

#include <stdbool.h>
#include <stdint.h>

struct sfs_plan_options {
	uint32_t batch;	  /* > 1; a batch of one rank */
	uint32_t n_ranks; /* 0: do not look at ranks */
	double quality;	  /* the worth of a batch that is wanted; 0: none */
	bool is_exact;	  /* scan all shards, not three */
	const char *svg;  /* draw the order into this file; NULL: don't */
};

/* Append the report to *text.  Waits.  < 0: with an error. */
int sfs_plan(struct sfs_options *options, const struct sfs_strings *specs,
	     const struct sfs_plan_options *plan, struct sfs_strbuf *text,
	     struct sfs_error *err);

#endif
