/* SPDX-License-Identifier: MIT */
/* plan-lift - how often the samples of a batch meet again in later epochs.
 *
 * Plays whole epochs of the real order: epoch 0, and those that are compared with it.
 */
#ifndef SFS_PLAN_LIFT_H
#define SFS_PLAN_LIFT_H

#include "cli/plan-dataset.h"
#include "order/order.h"

#define SFS_PLAN_LIFT_EPOCHS 10

/* Times as often as by chance (quality.h). */
struct sfs_plan_lift {
	double next; /* in epoch 1 */
	double mean; /* of epochs 1, 2, ... */
};

struct sfs_plan_lifts {
	uint32_t n_epochs; /* that were played; 0: none, there are too many samples */
	struct sfs_plan_lift whole; /* of the batches of the epoch */
	struct sfs_plan_lift rank;  /* of the batches of each rank */
};

/* How many epochs, of SFS_PLAN_LIFT_EPOCHS, can be played in some seconds?  0, or at
 * least 2; if the dataset wants to be exact, at least 2. */
uint32_t sfs_plan_lift_epochs(const struct sfs_plan_dataset *dataset);

/* Play n_epochs > 1.  What equal= leaves out or repeats does not count. */
struct sfs_plan_lifts sfs_plan_lift(struct sfs_plan_dataset *dataset,
				    const struct sfs_order_settings *settings,
				    uint32_t n_epochs);

#endif
