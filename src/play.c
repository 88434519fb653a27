/* SPDX-License-Identifier: MIT */
#include "play.h"

#include "mem.h"

struct sfs_play_lane {
	struct sfs_lane at;
	struct sfs_block block;
	size_t t; /* the next of the block */
};

void sfs_play_init(struct sfs_play *play, const struct sfs_order *order,
		   const struct sfs_tables *tables)
{
	uint32_t l;

	*play = (struct sfs_play){.order = order, .tables = *tables};
	play->lanes = sfs_calloc(order->n_lanes, sizeof *play->lanes);
	play->left = sfs_calloc(order->n_lanes, sizeof *play->left);
	play->n_left = order->n_lanes;
	for (l = 0; l < order->n_lanes; l++) {
		sfs_lane_init(&play->lanes[l].at, order, l);
		play->left[l] = l;
	}
}

void sfs_play_done(struct sfs_play *play)
{
	uint32_t l;

	for (l = 0; play->lanes && l < play->order->n_lanes; l++)
		sfs_block_done(&play->lanes[l].block);
	free(play->lanes);
	free(play->left);
	*play = (struct sfs_play){0};
}

/* Have a block with a sample to go.  false: the lane has ended. */
static bool have_block(struct sfs_play *play, struct sfs_play_lane *lane)
{
	uint32_t shard;

	if (lane->t < lane->block.n)
		return true;
	sfs_block_clear(&lane->block);
	lane->t = 0;
	return sfs_lane_form(&lane->at, &play->tables, &lane->block, &shard) == 0;
}

/* The lane whose turn it is has ended: the others keep their sequence. */
static void drop_lane(struct sfs_play *play)
{
	uint32_t k;

	play->n_left--;
	for (k = play->i; k < play->n_left; k++)
		play->left[k] = play->left[k + 1];
}

const struct sfs_block_sample *sfs_play_next(struct sfs_play *play)
{
	struct sfs_play_lane *lane;

	while (play->n_left > 0) {
		if (play->i >= play->n_left)
			play->i = 0;
		lane = &play->lanes[play->left[play->i]];
		if (have_block(play, lane)) {
			play->i++;
			return sfs_block_at(&lane->block, lane->t++);
		}
		drop_lane(play);
	}
	return NULL;
}

uint64_t sfs_play_even(const struct sfs_order *order, const struct sfs_tables *tables)
{
	uint64_t n, least = UINT64_MAX, at_least = 0;
	const struct sfs_slice *slice;
	const struct sfs_table *table;
	uint32_t l, m;

	for (l = 0; l < order->n_lanes; l++) {
		for (n = 0, m = 0; m < sfs_order_lane_slices(order, l); m++) {
			slice = sfs_order_slice(order, l, m);
			table = tables->get(tables->ctx, slice->shard);
			n += sfs_slice_end(slice, sfs_table_n(table)) - slice->first;
		}
		if (n < least) {
			least = n;
			at_least = l;
		}
	}
	return order->n_lanes ? least * order->n_lanes + at_least : 0;
}
