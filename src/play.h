/* SPDX-License-Identifier: MIT */
/* play - an epoch, or a part of one, played through: each sample, in order.
 *
 * For those who want the order and not the bytes.  Pure: from the tables alone.
 */
#ifndef SFS_PLAY_H
#define SFS_PLAY_H

#include "lane.h"
#include "map.h"
#include "order.h"

#include <stdbool.h>

struct sfs_play_lane; /* see play.c */

struct sfs_play {
	const struct sfs_order *order;
	struct sfs_tables tables;
	struct sfs_play_lane *lanes;
	uint32_t n_left; /* lanes that have not ended, and are `left` */
	uint32_t *left;
	uint32_t n_rounds;
	struct sfs_block_sample *window; /* the next rounds; n_bytes is 0: no sample */
	uint64_t i, n;			 /* the next of the window, and of how many */
	uint64_t round;			 /* behind the window */
};

/* All tables must be whole, and stay so. */
void sfs_play_init(struct sfs_play *play, const struct sfs_order *order,
		   const struct sfs_tables *tables);
void sfs_play_done(struct sfs_play *play);

/* The next sample; NULL at the end.  It is valid until the next call. */
const struct sfs_block_sample *sfs_play_next(struct sfs_play *play);

/* Go on with the first sample of a round; `map` is one of the same order. */
void sfs_play_seek(struct sfs_play *play, struct sfs_map *map, uint64_t round);

/* Does the next sample begin a window, and so the round play->round?  Then the playing
 * can be brought back here by sfs_play_seek(). */
static inline bool sfs_play_is_between(const struct sfs_play *play)
{
	return play->i == play->n;
}

/* Bytes of memory that it takes by now. */
uint64_t sfs_play_memory(const struct sfs_play *play);

/* How many samples come before the first lane has ended: up to there all lanes take
 * turns. */
uint64_t sfs_play_even(const struct sfs_order *order, const struct sfs_tables *tables);

#endif
