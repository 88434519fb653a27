/* SPDX-License-Identifier: MIT */
/* How this works: the samples that are due in a window of time are laid out at once, lane
 * after lane, and then sorted.  Taking the next sample of all lanes each time would cost
 * a cache miss each: there are hundreds of lanes, each reads elsewhere, and their entries
 * also compete for the same cache lines.
 *
 * Samples are counted into buckets by their time, which keeps lanes in order; buckets
 * that are longer than one unit of time are then sorted.  The window's span follows from
 * how many samples the last one had. */
#include "order/iterate.h"

#include "base/alloc.h"

#include <string.h>

#define N_WINDOW  4096 /* samples, about */
#define N_BUCKETS 8192
#define N_GROUP	  16 /* lanes whose cache misses overlap */

struct sfs_iterator_lane {
	struct sfs_lane at;
	struct sfs_block block;
	size_t t; /* the next of the block */
};

void sfs_iterator_init(struct sfs_iterator *it, const struct sfs_order *order,
		       const struct sfs_sample_tables *tables)
{
	uint32_t l;

	*it = (struct sfs_iterator){.order = order, .tables = *tables, .span = 1};
	it->lanes = sfs_calloc(order->n_lanes, sizeof *it->lanes);
	it->left = sfs_calloc(order->n_lanes, sizeof *it->left);
	it->n_left = order->n_lanes;
	it->counts = sfs_calloc(N_BUCKETS + 1, sizeof *it->counts);
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
	free(it->times);
	free(it->sorted);
	free(it->counts);
	*it = (struct sfs_iterator){0};
}

/* ---- what will be read soon ---- */

/* Prefetch the next slices of a lane; each may have just one sample. */
static void prefetch_slices(const struct sfs_iterator *it, const struct sfs_lane *lane)
{
	uint32_t n = sfs_order_lane_slices(lane->order, lane->lane), m = lane->m;
	uint32_t end = n - m < it->n_ahead ? n : m + it->n_ahead;

	for (; m < end; m += 64 / sizeof(struct sfs_slice))
		__builtin_prefetch(sfs_order_slice(lane->order, lane->lane, m));
}

/* Prefetch what it will read of its tables. */
static void prefetch_tables(const struct sfs_iterator *it, const struct sfs_lane *lane)
{
	uint32_t n = sfs_order_lane_slices(lane->order, lane->lane), m = lane->m;
	uint64_t left = it->n_ahead, index = lane->index, end;
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

/* Prefetch for a group of lanes at once. */
static void prefetch(const struct sfs_iterator *it, uint32_t first, uint32_t n)
{
	uint32_t end = n - first < N_GROUP ? n : first + N_GROUP, k;

	for (k = first; k < end; k++)
		prefetch_slices(it, &it->lanes[it->left[k]].at);
	for (k = first; k < end; k++)
		prefetch_tables(it, &it->lanes[it->left[k]].at);
}

/* ---- windows ---- */

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

static void grow_window(struct sfs_iterator *it)
{
	it->capacity = it->capacity ? 2 * it->capacity : N_WINDOW;
	it->window = sfs_reallocarray(it->window, it->capacity, sizeof *it->window);
	it->times = sfs_reallocarray(it->times, it->capacity, sizeof *it->times);
	it->sorted = sfs_reallocarray(it->sorted, it->capacity, sizeof *it->sorted);
}

/* Lay out the lane's samples that are due before `end`.  false: it has ended. */
static bool lay_out(struct sfs_iterator *it, struct sfs_iterator_lane *lane, uint64_t end)
{
	const struct sfs_block *block = &lane->block;

	for (; have_block(it, lane); lane->t++) {
		if (block->times[lane->t] >= end)
			return true;
		if (it->n == it->capacity)
			grow_window(it);
		it->window[it->n] = *sfs_block_at(block, lane->t);
		it->times[it->n++] = block->times[lane->t] - it->time;
	}
	return false;
}

/* Within a bucket, most often of one sample. */
static void sort_buckets(struct sfs_iterator *it)
{
	uint32_t i, k, at;

	for (i = 1; i < it->n; i++) {
		at = it->sorted[i];
		for (k = i; k > 0 && it->times[it->sorted[k - 1]] > it->times[at]; k--)
			it->sorted[k] = it->sorted[k - 1];
		it->sorted[k] = at;
	}
}

/* Sort the window by (time, lane, number in the lane). */
static void sort(struct sfs_iterator *it)
{
	uint32_t *counts = it->counts, n_buckets, i;
	int shift = 0;

	while ((it->span - 1) >> shift >= N_BUCKETS)
		shift++;
	n_buckets = (uint32_t)((it->span - 1) >> shift) + 1;
	memset(counts, 0, (n_buckets + 1) * sizeof *counts);
	for (i = 0; i < it->n; i++)
		counts[(it->times[i] >> shift) + 1]++;
	for (i = 0; i < n_buckets; i++)
		counts[i + 1] += counts[i];
	for (i = 0; i < it->n; i++)
		it->sorted[counts[it->times[i] >> shift]++] = i;
	if (shift > 0)
		sort_buckets(it);
}

/* Lay out the next window; it may be empty. */
static void fill(struct sfs_iterator *it)
{
	uint32_t n = it->n_left, n_left = 0, k;

	it->n_ahead = it->n / (n + 1) + 2;
	it->i = it->n = 0;
	for (k = 0; k < n; k++) {
		if (k % N_GROUP == 0)
			prefetch(it, k, n);
		if (lay_out(it, &it->lanes[it->left[k]], it->time + it->span))
			it->left[n_left++] = it->left[k];
	}
	it->n_left = n_left;
	sort(it);
	it->time += it->span;
	if (it->n < N_WINDOW / 2 && it->span < SFS_TIMES)
		it->span *= 2;
	else if (it->n > N_WINDOW && it->span > 1)
		it->span /= 2;
}

const struct sfs_block_sample *sfs_iterator_next(struct sfs_iterator *it)
{
	while (it->i == it->n) {
		if (it->n_left == 0)
			return NULL;
		fill(it);
	}
	return &it->window[it->sorted[it->i++]];
}

void sfs_iterator_seek(struct sfs_iterator *it, struct sfs_locator *map, uint64_t time)
{
	struct sfs_iterator_lane *lane;
	uint32_t l, shard;
	uint64_t number;

	it->i = it->n = 0;
	it->n_left = 0;
	it->time = time;
	for (l = 0; l < it->order->n_lanes; l++) {
		lane = &it->lanes[l];
		if (sfs_locator_count(map, l, time, &number, &shard) < 0 ||
		    sfs_locator_seek(map, l, number, &lane->at, &lane->block, &shard) < 0)
			continue;
		lane->t = number - lane->block.first;
		it->left[it->n_left++] = l;
	}
}

uint64_t sfs_iterator_memory(const struct sfs_iterator *it)
{
	uint64_t n_lanes = it->order ? it->order->n_lanes : 0, n, l;

	n = n_lanes * (sizeof *it->lanes + sizeof *it->left) +
	    (N_BUCKETS + 1) * sizeof *it->counts +
	    it->capacity * (sizeof *it->window + sizeof *it->times + sizeof *it->sorted);
	for (l = 0; l < n_lanes; l++)
		n += it->lanes[l].block.capacity *
		     (sizeof *it->lanes[l].block.samples +
		      sizeof *it->lanes[l].block.perm + sizeof *it->lanes[l].block.times);
	return n;
}
