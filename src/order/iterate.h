/* SPDX-License-Identifier: MIT */
/* iterate - iterates over the samples of an epoch, or of a part of one, in order.
 *
 * For callers that want the order and not the bytes.  Pure: needs only the tables.
 */
#ifndef SFS_ITERATE_H
#define SFS_ITERATE_H

#include "order/block.h"
#include "order/locate.h"
#include "order/order.h"

#include <stdbool.h>

struct sfs_iterator_lane; /* see iterate.c */

struct sfs_iterator {
	const struct sfs_order *order;
	struct sfs_sample_tables tables;
	struct sfs_iterator_lane *lanes;
	uint32_t n_left; /* lanes that have not ended: left[] */
	uint32_t *left;

	uint64_t time;			 /* at which the next window begins */
	uint64_t span;			 /* how long that is */
	struct sfs_block_sample *window; /* lane after lane */
	uint64_t *keys;	  /* of each: when it is due in the window << 32 | its index */
	uint64_t *sorted; /* the keys */
	uint32_t i, n, capacity;
	uint32_t n_ahead; /* how many a lane has in a window, about */
	uint32_t *counts; /* of those due within the same 1 << shift units of time */
	uint32_t shift;
};

/* All tables must be whole and stay so. */
void sfs_iterator_init(struct sfs_iterator *it, const struct sfs_order *order,
		       const struct sfs_sample_tables *tables);
void sfs_iterator_done(struct sfs_iterator *it);

/* The next sample; NULL at the end.  It is valid until the next call. */
const struct sfs_block_sample *sfs_iterator_next(struct sfs_iterator *it);

/* Continue with the first sample at or after a time; `map` is a locator of the same
 * order. */
void sfs_iterator_seek(struct sfs_iterator *it, struct sfs_locator *map, uint64_t time);

/* Does the next sample begin a window, and so the first at or after it->time?  Then
 * sfs_iterator_seek() can return here. */
static inline bool sfs_iterator_is_between(const struct sfs_iterator *it)
{
	return it->i == it->n;
}

/* Bytes of memory that it takes now. */
uint64_t sfs_iterator_memory(const struct sfs_iterator *it);

#endif
