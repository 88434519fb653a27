/* SPDX-License-Identifier: MIT */
/* worth - estimates how well an order shuffles, from the sizes of the shards alone.
 *
 * Two epochs of the real order are played, of samples that are all of one size: so large
 * that they can be played in some milliseconds.  What an order is worth hardly depends on
 * the size of samples, for lanes, blocks and paces are made of bytes; the lift is a little
 * higher if there are more samples.  `shufflefs plan` looks at the samples themselves.
 * Pure.
 */
#ifndef SFS_WORTH_H
#define SFS_WORTH_H

#include "order/order.h"

#include <stdbool.h>

#define SFS_WORTH_BATCH 256 /* samples */

struct sfs_worth {
	double worth; /* of a batch in epoch 0, in independent samples (quality.h); < 0:
		       * there is one shard, and so nothing to compare */
	double lift;  /* from epoch 0 to 1 */
};

/* What is known of a dataset. */
struct sfs_worth_shards {
	const uint64_t *sizes; /* of each shard, in bytes */
	uint32_t n;
	uint64_t sample_bytes; /* samples are hardly smaller, on average; 0: unknown */
};

/* false: unknown, for there are too few samples, or too many shards. */
bool sfs_worth_estimate(const struct sfs_order_settings *settings,
			const struct sfs_worth_shards *shards,
			struct sfs_worth *ret_worth);

/* Is it so little that a user should be told? */
bool sfs_worth_is_low(const struct sfs_worth *worth);

#endif
