/* SPDX-License-Identifier: MIT */
/* weak-order - tells users when the order hardly shuffles their dataset.
 *
 * With few or very unequal shards a batch is worth less than it has samples, and samples
 * that met in a batch meet again in the next epoch (order/worth.h).  It is estimated once,
 * from the sizes of the shards, when all are known; that takes some milliseconds.  Any
 * thread may call.
 */
#ifndef SFS_WEAK_ORDER_H
#define SFS_WEAK_ORDER_H

#include "base/error.h"

#include <stdatomic.h>
#include <stdbool.h>

struct sfs_runtime;
struct sfs_sizes;

struct sfs_weak_order {
	const struct sfs_runtime *runtime; /* borrowed */
	struct sfs_sizes *sizes;	   /* borrowed */
	atomic_int state; /* 0: unknown; then it is being estimated, or known */
	atomic_bool is_wanted, is_told;
	struct sfs_error text; /* empty: the order shuffles well, or nobody knows */
};

void sfs_weak_order_init(struct sfs_weak_order *w, const struct sfs_runtime *runtime,
			 struct sfs_sizes *sizes);

/* One sentence that says so and what helps.  NULL: there is nothing to say, or not yet. */
const char *sfs_weak_order_text(struct sfs_weak_order *w);

/* Log that sentence, once: now, or when all sizes are known. */
void sfs_weak_order_tell(struct sfs_weak_order *w);

/* Each second. */
void sfs_weak_order_tick(struct sfs_weak_order *w);

#endif
