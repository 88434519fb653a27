/* SPDX-License-Identifier: MIT */
/* How this works: a few rounds are laid out at once, lane after lane, and then gone
 * through in their order.  One sample of each lane in turn would be a wait for memory
 * each: the lanes are hundreds, each reads elsewhere, and when all are at the same sample
 * of their shards those places also contend for the same lines of the processor's cache.
 */
#include "order/iterate.h"

#include "base/alloc.h"

#define N_WINDOW 4096 /* samples, if no more are a round */
#define N_GROUP	 16   /* lanes: their waits for memory are one */

struct sfs_iterator_lane {
	struct sfs_lane at;
	struct sfs_block block;
	size_t t; /* the next of the block */
};

void sfs_iterator_init(struct sfs_iterator *play, const struct sfs_order *order,
		       const struct sfs_sample_tables *tables)
{
	uint32_t l;

	*play = (struct sfs_iterator){.order = order, .tables = *tables};
	play->lanes = sfs_calloc(order->n_lanes, sizeof *play->lanes);
	play->left = sfs_calloc(order->n_lanes, sizeof *play->left);
	play->n_left = order->n_lanes;
	play->n_rounds = order->n_lanes < N_WINDOW ? N_WINDOW / (order->n_lanes + 1) : 1;
	play->window = sfs_reallocarray(NULL, (size_t)play->n_rounds * order->n_lanes + 1,
					sizeof *play->window);
	for (l = 0; l < order->n_lanes; l++) {
		sfs_lane_init(&play->lanes[l].at, order, l);
		play->left[l] = l;
	}
}

void sfs_iterator_done(struct sfs_iterator *play)
{
	uint32_t l;

	for (l = 0; play->lanes && l < play->order->n_lanes; l++)
		sfs_block_done(&play->lanes[l].block);
	free(play->lanes);
	free(play->left);
	free(play->window);
	*play = (struct sfs_iterator){0};
}

/* Have the next slices of a lane brought nearer; each may have but one sample. */
static void prefetch_slices(const struct sfs_iterator *play, const struct sfs_lane *lane)
{
	uint32_t n = sfs_order_lane_slices(lane->order, lane->lane), m = lane->m;
	uint32_t end = n - m < play->n_rounds ? n : m + play->n_rounds;

	for (; m < end; m += 64 / sizeof(struct sfs_slice))
		__builtin_prefetch(sfs_order_slice(lane->order, lane->lane, m));
}

/* And what it will read of its tables. */
static void prefetch_tables(const struct sfs_iterator *play, const struct sfs_lane *lane)
{
	uint32_t n = sfs_order_lane_slices(lane->order, lane->lane), m = lane->m;
	uint64_t left = play->n_rounds, index = lane->index, end;
	const struct sfs_slice *slice;
	const struct sfs_sample_table *table;

	for (; m < n && left > 0; m++) {
		slice = sfs_order_slice(lane->order, lane->lane, m);
		table = play->tables.get(play->tables.ctx, slice->shard);
		index = m == lane->m ? index : slice->first;
		end = sfs_slice_end(slice, sfs_sample_table_n(table));
		end = end - index < left ? end : index + left;
		left -= end - index;
		if (index < end)
			sfs_sample_table_prefetch(table, index, end);
	}
}

/* Have a block with a sample to go.  false: the lane has ended. */
static bool have_block(struct sfs_iterator *play, struct sfs_iterator_lane *lane)
{
	uint32_t shard;

	if (lane->t < lane->block.n)
		return true;
	sfs_block_clear(&lane->block);
	lane->t = 0;
	return sfs_lane_form(&lane->at, &play->tables, &lane->block, &shard) == 0;
}

/* Lay out the lane's next samples, one a round.  false: it has ended. */
static bool lay_out(struct sfs_iterator *play, struct sfs_iterator_lane *lane,
		    uint32_t column)
{
	struct sfs_block_sample *to = play->window + column;
	uint32_t r;

	for (r = 0; r < play->n_rounds && have_block(play, lane); r++, to += play->n_left)
		*to = *sfs_block_at(&lane->block, lane->t++);
	if (r == play->n_rounds)
		return true;
	for (; r < play->n_rounds; r++, to += play->n_left)
		to->n_bytes = 0;
	return false;
}

/* All of a group at once, before the first of them waits. */
static void prefetch(const struct sfs_iterator *play, uint32_t first)
{
	uint32_t end = play->n_left - first < N_GROUP ? play->n_left : first + N_GROUP, k;

	for (k = first; k < end; k++)
		prefetch_slices(play, &play->lanes[play->left[k]].at);
	for (k = first; k < end; k++)
		prefetch_tables(play, &play->lanes[play->left[k]].at);
}

/* The next rounds. */
static void fill(struct sfs_iterator *play)
{
	uint32_t n = play->n_left, n_left = 0, k;

	for (k = 0; k < n; k++) {
		if (k % N_GROUP == 0)
			prefetch(play, k);
		if (lay_out(play, &play->lanes[play->left[k]], k))
			play->left[n_left++] = play->left[k];
	}
	play->i = 0;
	play->n = (uint64_t)n * play->n_rounds;
	play->n_left = n_left;
	play->round += play->n_rounds;
}

const struct sfs_block_sample *sfs_iterator_next(struct sfs_iterator *play)
{
	const struct sfs_block_sample *s;

	for (;;) {
		while (play->i < play->n) {
			s = &play->window[play->i++];
			if (s->n_bytes > 0)
				return s;
		}
		if (play->n_left == 0)
			return NULL;
		fill(play);
	}
}

void sfs_iterator_seek(struct sfs_iterator *play, struct sfs_locator *map, uint64_t round)
{
	uint32_t l, shard;
	int ret;

	play->i = play->n = 0;
	play->n_left = 0;
	play->round = round;
	for (l = 0; l < play->order->n_lanes; l++) {
		struct sfs_iterator_lane *lane = &play->lanes[l];

		ret = sfs_locator_seek(map, l, round, &lane->at, &lane->block, &shard);
		if (ret < 0)
			continue;
		lane->t = round - lane->block.first;
		play->left[play->n_left++] = l;
	}
}

uint64_t sfs_iterator_memory(const struct sfs_iterator *play)
{
	uint64_t n_lanes = play->order ? play->order->n_lanes : 0, n, l;

	n = n_lanes * (sizeof *play->lanes + sizeof *play->left) +
	    (play->n_rounds * n_lanes + 1) * sizeof *play->window;
	for (l = 0; l < n_lanes; l++)
		n += play->lanes[l].block.capacity *
		     (sizeof *play->lanes[l].block.samples +
		      sizeof *play->lanes[l].block.perm);
	return n;
}

uint64_t sfs_iterator_even(const struct sfs_order *order,
			   const struct sfs_sample_tables *tables)
{
	uint64_t n, least = UINT64_MAX, at_least = 0;
	const struct sfs_slice *slice;
	const struct sfs_sample_table *table;
	uint32_t l, m;

	for (l = 0; l < order->n_lanes; l++) {
		for (n = 0, m = 0; m < sfs_order_lane_slices(order, l); m++) {
			slice = sfs_order_slice(order, l, m);
			table = tables->get(tables->ctx, slice->shard);
			n += sfs_slice_end(slice, sfs_sample_table_n(table)) -
			     slice->first;
		}
		if (n < least) {
			least = n;
			at_least = l;
		}
	}
	return order->n_lanes ? least * order->n_lanes + at_least : 0;
}
