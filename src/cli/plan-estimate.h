/* SPDX-License-Identifier: MIT */
/* plan-estimate - what settings of the order cost, and how well they shuffle.
 *
 * The order is the real one, of the samples in plan-dataset.h.  A long epoch is played
 * only at some places, evenly spaced, and at its end. */
#ifndef SFS_PLAN_ESTIMATE_H
#define SFS_PLAN_ESTIMATE_H

#include "cli/plan-dataset.h"
#include "cli/plan-lift.h"
#include "order/order.h"
#include "order/quality.h"

#define SFS_PLAN_PLACES 200 /* ten tenths of twenty */

struct sfs_plan_estimate {
	struct sfs_order_settings settings;
	uint32_t n_lanes;		   /* in use */
	uint64_t part_bytes, memory_bytes; /* of a request; of a stream */

	/* Of epoch 0; after sfs_plan_judge(). */
	struct sfs_quality quality;
	uint64_t n_slices; /* that are read, each on its own */

	/* After sfs_plan_compare(). */
	struct sfs_quality rank; /* of rank 0, if there are ranks */
	struct sfs_plan_lifts lifts;
};

/* How many lanes can be in use: segments that are dealt, or samples. */
uint64_t sfs_plan_most_lanes(struct sfs_plan_dataset *d,
			     const struct sfs_order_settings *settings);

/* What a stream of these settings costs. */
struct sfs_plan_estimate sfs_plan_cost(struct sfs_plan_dataset *dataset,
				       const struct sfs_order_settings *settings);

/* Play epoch 0, and judge it. */
void sfs_plan_judge(struct sfs_plan_dataset *dataset, struct sfs_plan_estimate *estimate);

/* Play rank 0, and n_epochs whole epochs (0, or at least 2) for the lifts. */
void sfs_plan_compare(struct sfs_plan_dataset *dataset,
		      struct sfs_plan_estimate *estimate, uint32_t n_epochs);

/* Is an epoch of n samples too long to be played from start to end? */
bool sfs_plan_is_sampled(const struct sfs_plan_dataset *dataset, uint64_t n);

#endif
