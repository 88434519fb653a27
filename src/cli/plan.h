/* SPDX-License-Identifier: MIT */
/* plan - what settings would be like, before anything is mounted.
 *
 * How well they shuffle (quality.h), from the real order of epochs 0 and 1; how much
 * memory a stream takes, how many connections and requests; and how far the order is the
 * same for all numbers of ranks.  Or the cheapest settings that shuffle well enough.
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
	double quality;	  /* B_eff that is wanted; 0: none */
	bool is_exact;	  /* count the samples of all shards, not of three */
	const char *svg;  /* draw the order into this file; NULL: don't */
};

/* Append it to *text, for people.  Waits.  < 0: with a sentence. */
int sfs_plan(struct sfs_options *options, const struct sfs_strings *specs,
	     const struct sfs_plan_options *plan, struct sfs_strbuf *text,
	     struct sfs_error *err);

#endif
