/* SPDX-License-Identifier: MIT */
/* How this works: a few rounds are laid out at once, lane after lane, and then returned
 * in order.  Taking one sample of each lane in turn would cost a cache miss each: there
 * are hundreds of lanes, each reads elsewhere, and when all are at the same sample of
 * their shards, their entries also compete for the same cache lines. */
#include "order/iterate.h"

#include "base/alloc.h"

#define N_WINDOW 4096 /* samples; at least a round */
#define N_GROUP	 16   /* lanes whose cache misses overlap */

struct sfs_iterator_lane {
	struct sfs_lane at;
	struct sfs_block block;
	size_t t; /* the next of the block */
};

void sfs_iterator_init(struct sfs_iterator *it, const struct sfs_order *order,
		       const struct sfs_sample_tables *tables)
{
	uint32_t l;

	*it = (struct sfs_iterator){.order = order, .tables = *tables};
	it->lanes = sfs_calloc(order->n_lanes, sizeof *it->lanes);
	it->left = sfs_calloc(order->n_lanes, sizeof *it->left);
	it->n_left = order->n_lanes;
	it->n_rounds = order->n_lanes < N_WINDOW ? N_WINDOW / (order->n_lanes + 1) : 1;
	it->window = sfs_reallocarray(NULL, (size_t)it->n_rounds * order->n_lanes + 1,
				      sizeof *it->window);
	for (l = 0; l < order->n_lanes; l++) {
		sfs_lane_init(&it->lanes[l].at, order, l);
		it->left[l] = l;
	}
}

void sfs_iterator_done(struct sfs_iterator *it)
{
	uint32_t l;

	for (l = 0; it->lanes && l < it->order->n_lanes; l++)
		sfs_block_done(&it->lanes[l].block);
	free(it->lanes);
	free(it->left);
	free(it->window);
	*it = (struct sfs_iterator){0};
}

/* Prefetch the next slices of a lane; each may have just one sample. */
static void prefetch_slices(const struct sfs_iterator *it, const struct sfs_lane *lane)
{
	uint32_t n = sfs_order_lane_slices(lane->order, lane->lane), m = lane->m;
	uint32_t end = n - m < it->n_rounds ? n : m + it->n_rounds;

	for (; m < end; m += 64 / sizeof(struct sfs_slice))
		__builtin_prefetch(sfs_order_slice(lane->order, lane->lane, m));
}

/* Prefetch what it will read of its tables. */
static void prefetch_tables(const struct sfs_iterator *it, const struct sfs_lane *lane)
{
	uint32_t n = sfs_order_lane_slices(lane->order, lane->lane), m = lane->m;
	uint64_t left = it->n_rounds, index = lane->index, end;
	const struct sfs_slice *slice;
	const struct sfs_sample_table *table;

	for (; m < n && left > 0; m++) {
		slice = sfs_order_slice(lane->order, lane->lane, m);
		table = it->tables.get(it->tables.ctx, slice->shard);
		index = m == lane->m ? index : slice->first;
		end = sfs_slice_end(slice, sfs_sample_table_n(table));
		end = end - index < left ? end : index + left;
		left -= end - index;
		if (index < end)
			sfs_sample_table_prefetch(table, index, end);
	}
}

/* Form blocks until one has a sample left.  false: the lane has ended. */
static bool have_block(struct sfs_iterator *it, struct sfs_iterator_lane *lane)
{
	uint32_t shard;

	if (lane->t < lane->block.n)
		return true;
	sfs_block_clear(&lane->block);
	lane->t = 0;
	return sfs_lane_form(&lane->at, &it->tables, &lane->block, &shard) == 0;
}

/* Lay out the next samples of the lane, one per round.  false: it has ended. */
static bool lay_out(struct sfs_iterator *it, struct sfs_iterator_lane *lane,
		    uint32_t column)
{
	struct sfs_block_sample *to = it->window + column;
	uint32_t r;

	for (r = 0; r < it->n_rounds && have_block(it, lane); r++, to += it->n_left)
		*to = *sfs_block_at(&lane->block, lane->t++);
	if (r == it->n_rounds)
		return true;
	for (; r < it->n_rounds; r++, to += it->n_left)
		to->n_bytes = 0;
	return false;
}

/* Prefetch for a group of lanes at once. */
static void prefetch(const struct sfs_iterator *it, uint32_t first)
{
	uint32_t end = it->n_left - first < N_GROUP ? it->n_left : first + N_GROUP, k;

	for (k = first; k < end; k++)
		prefetch_slices(it, &it->lanes[it->left[k]].at);
	for (k = first; k < end; k++)
		prefetch_tables(it, &it->lanes[it->left[k]].at);
}

/* Lay out the next rounds. */
static void fill(struct sfs_iterator *it)
{
	uint32_t n = it->n_left, n_left = 0, k;

	for (k = 0; k < n; k++) {
		if (k % N_GROUP == 0)
			prefetch(it, k);
		if (lay_out(it, &it->lanes[it->left[k]], k))
			it->left[n_left++] = it->left[k];
	}
	it->i = 0;
	it->n = (uint64_t)n * it->n_rounds;
	it->n_left = n_left;
	it->round += it->n_rounds;
}

const struct sfs_block_sample *sfs_iterator_next(struct sfs_iterator *it)
{
	const struct sfs_block_sample *s;

	for (;;) {
		while (it->i < it->n) {
			s = &it->window[it->i++];
			if (s->n_bytes > 0)
				return s;
		}
		if (it->n_left == 0)
			return NULL;
		fill(it);
	}
}

void sfs_iterator_seek(struct sfs_iterator *it, struct sfs_locator *map, uint64_t round)
{
	uint32_t l, shard;
	int ret;

	it->i = it->n = 0;
	it->n_left = 0;
	it->round = round;
	for (l = 0; l < it->order->n_lanes; l++) {
		struct sfs_iterator_lane *lane = &it->lanes[l];

		ret = sfs_locator_seek(map, l, round, &lane->at, &lane->block, &shard);
		if (ret < 0)
			continue;
		lane->t = round - lane->block.first;
		it->left[it->n_left++] = l;
	}
}

uint64_t sfs_iterator_memory(const struct sfs_iterator *it)
{
	uint64_t n_lanes = it->order ? it->order->n_lanes : 0, n, l;

	n = n_lanes * (sizeof *it->lanes + sizeof *it->left) +
	    (it->n_rounds * n_lanes + 1) * sizeof *it->window;
	for (l = 0; l < n_lanes; l++)
		n += it->lanes[l].block.capacity * (sizeof *it->lanes[l].block.samples +
						    sizeof *it->lanes[l].block.perm);
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
