/* SPDX-License-Identifier: MIT */
/* plan-estimate - what settings of the order cost, and how well they shuffle.
 *
 * The order is the real one, of the samples in plan-dataset.h.  A long epoch is played
 * only at some places, evenly spaced, and at its end. */
#ifndef SFS_PLAN_ESTIMATE_H
#define SFS_PLAN_ESTIMATE_H

#include "cli/plan-dataset.h"
#include "order/order.h"
#include "order/quality.h"

#define SFS_PLAN_PLACES 200 /* ten tenths of twenty */

struct sfs_plan_estimate {
	struct sfs_order_settings settings;
	uint32_t n_lanes;		   /* in use */
	uint64_t part_bytes, memory_bytes; /* of a request; of a stream */

	/* Of epoch 0; after sfs_plan_judge(). */
	struct sfs_quality quality;
	uint64_t n_slices;
	uint64_t n_even; /* samples until the first lane ends */
};

/* What a stream of these settings costs. */
struct sfs_plan_estimate sfs_plan_cost(struct sfs_plan_dataset *dataset,
				       const struct sfs_order_settings *settings);

/* Play epoch 0, and fill in the rest. */
void sfs_plan_judge(struct sfs_plan_dataset *dataset, struct sfs_plan_estimate *estimate);

/* The quality of rank 0 of n_ranks. */
void sfs_plan_judge_rank(struct sfs_plan_dataset *dataset,
			 const struct sfs_order_settings *settings, uint32_t n_ranks,
			 struct sfs_quality *ret_quality);

/* Is an epoch of n samples too long to be played from start to end? */
bool sfs_plan_is_sampled(const struct sfs_plan_dataset *dataset, uint64_t n);

/* How much more likely than by chance two samples of a batch are in one batch again in
 * the next epoch.  Plays two epochs. */
double sfs_plan_lift(struct sfs_plan_dataset *dataset,
		     const struct sfs_order_settings *settings);

#endif
