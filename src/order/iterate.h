/* SPDX-License-Identifier: MIT */
/* play - an epoch, or a part of one, played through: each sample, in order.
 *
 * For those who want the order and not the bytes.  Pure: from the tables alone.
 */
#ifndef SFS_ITERATE_H
#define SFS_ITERATE_H

#include "order/block.h"
#include "order/locate.h"
#include "order/order.h"

#include <stdbool.h>

struct sfs_iterator_lane; /* see play.c */

struct sfs_iterator {
	const struct sfs_order *order;
	struct sfs_sample_tables tables;
	struct sfs_iterator_lane *lanes;
	uint32_t n_left; /* lanes that have not ended, and are `left` */
	uint32_t *left;
	uint32_t n_rounds;
	struct sfs_block_sample *window; /* the next rounds; n_bytes is 0: no sample */
	uint64_t i, n;			 /* the next of the window, and of how many */
	uint64_t round;			 /* behind the window */
};

/* All tables must be whole, and stay so. */
void sfs_iterator_init(struct sfs_iterator *play, const struct sfs_order *order,
		       const struct sfs_sample_tables *tables);
void sfs_iterator_done(struct sfs_iterator *play);

/* The next sample; NULL at the end.  It is valid until the next call. */
const struct sfs_block_sample *sfs_iterator_next(struct sfs_iterator *play);

/* Go on with the first sample of a round; `map` is one of the same order. */
void sfs_iterator_seek(struct sfs_iterator *play, struct sfs_locator *map,
		       uint64_t round);

/* Does the next sample begin a window, and so the round play->round?  Then the playing
 * can be brought back here by sfs_iterator_seek(). */
static inline bool sfs_iterator_is_between(const struct sfs_iterator *play)
{
	return play->i == play->n;
}

/* Bytes of memory that it takes by now. */
uint64_t sfs_iterator_memory(const struct sfs_iterator *play);

/* How many samples come before the first lane has ended: up to there all lanes take
 * turns. */
uint64_t sfs_iterator_even(const struct sfs_order *order,
			   const struct sfs_sample_tables *tables);

#endif
