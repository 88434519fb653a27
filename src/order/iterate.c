/* SPDX-License-Identifier: MIT */
/* How this works: the samples that are due in a window of time are laid out at once, lane
 * after lane, and then sorted.  Taking the next sample of all lanes each time would cost
 * a cache miss each: there are hundreds of lanes, each reads elsewhere, and their entries
 * also compete for the same cache lines.
 *
 * Samples are counted into buckets by their time, which keeps lanes in order; buckets
 * that are longer than one unit of time are then sorted.  The window's span follows from
 * how many samples the last one had.
 *
 * Single samples are anywhere in the tables: they are looked up many at a time, without
 * blocks, and need no sorting.  The first windows are small, as who seeks may want few.
 */
#include "order/iterate.h"

#include "base/alloc.h"
#include "order/lookup.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#define N_WINDOW  4096 /* samples, about */
#define N_TURNS	  8192 /* of equal lanes, about; more table lines are fetched at once */
#define N_SINGLE  ((uint64_t)1 << 18) /* single samples, in the end */
#define N_BUCKETS 4096
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

	*it = (struct sfs_iterator){.order = order, .tables = *tables};
	if (sfs_order_is_single(order)) {
		it->span = 1;
		it->n_left = order->n_lanes;
		return;
	}
	if (sfs_order_is_dealt(order))
		it->span = 1;
	else
		it->span = order->n_lanes < N_TURNS ? N_TURNS / (order->n_lanes + 1) : 1;
	it->lanes = sfs_calloc(order->n_lanes, sizeof *it->lanes);
	it->left = sfs_calloc(order->n_lanes, sizeof *it->left);
	it->n_left = order->n_lanes;
	it->counts = sfs_calloc(N_BUCKETS, sizeof *it->counts);
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
	free(it->keys);
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
		__builtin_prefetch(
			&lane->order->slices[lane->order->lane_start[lane->lane] + m]);
}

/* Prefetch what it will read of its tables. */
static void prefetch_tables(const struct sfs_iterator *it, const struct sfs_lane *lane)
{
	uint32_t n = sfs_order_lane_slices(lane->order, lane->lane), m = lane->m;
	uint64_t left = it->n_ahead, index = lane->index, end;
	const struct sfs_sample_table *table;
	struct sfs_slice slice;

	for (; m < n && left > 0; m++) {
		slice = sfs_order_slice(lane->order, lane->lane, m);
		table = it->tables.get(it->tables.ctx, slice.shard);
		index = m == lane->m ? index : slice.first;
		end = sfs_slice_end(&slice, sfs_sample_table_n(table));
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
	int ret;

	if (lane->t < lane->block.n)
		return true;
	sfs_block_clear(&lane->block);
	lane->t = 0;
	ret = sfs_lane_form(&lane->at, &it->tables, &lane->block, &shard);
	assert(ret == 0 || ret == -ENODATA); /* all tables are whole */
	return ret == 0;
}

static void have_window(struct sfs_iterator *it, uint64_t n)
{
	if (n <= it->capacity)
		return;
	it->capacity = n < N_WINDOW ? N_WINDOW : (uint32_t)(n + n / 2);
	it->window = sfs_reallocarray(it->window, it->capacity, sizeof *it->window);
	if (!sfs_order_is_dealt(it->order))
		return;
	it->keys = sfs_reallocarray(it->keys, it->capacity, sizeof *it->keys);
	it->sorted = sfs_reallocarray(it->sorted, it->capacity, sizeof *it->sorted);
}

/* Lay out the samples of an equal lane, the k-th of those that are left: there is one of
 * each lane at each time, so its place in the window is known.  (Where lanes end, the
 * first ones are one sample longer.)  false: the lane has ended. */
static bool lay_out_turns(struct sfs_iterator *it, struct sfs_iterator_lane *lane,
			  uint32_t k)
{
	uint64_t r, n = it->n_left;

	for (r = 0; r < it->span && have_block(it, lane); r++, it->n++)
		it->window[r * n + k] = *sfs_block_at(&lane->block, lane->t++);
	return r == it->span;
}

/* Lay out the lane's samples that are due before the window's end.  false: the lane has
 * ended. */
static bool lay_out(struct sfs_iterator *it, struct sfs_iterator_lane *lane)
{
	const uint64_t time = it->time, span = it->span;
	const struct sfs_block *block = &lane->block;
	uint32_t *counts = it->counts, shift = it->shift, n = it->n;
	uint64_t due;
	size_t t;

	for (; have_block(it, lane); lane->t = t) {
		have_window(it, n + block->n);
		for (t = lane->t; t < block->n; t++, n++) {
			due = block->times[t] - time;
			if (due >= span) {
				lane->t = t;
				it->n = n;
				return true;
			}
			it->window[n] = *sfs_block_at(block, t);
			it->keys[n] = due << 32 | n;
			counts[due >> shift]++;
		}
	}
	it->n = n;
	return false;
}

/* The keys are in buckets; most often in one of their own. */
static void sort_buckets(uint64_t *keys, uint32_t n)
{
	uint64_t key;
	uint32_t i, k;

	for (i = 1; i < n; i++) {
		key = keys[i];
		for (k = i; k > 0 && keys[k - 1] > key; k--)
			keys[k] = keys[k - 1];
		keys[k] = key;
	}
}

/* Sort the window by (time, lane, number in the lane). */
static void sort(struct sfs_iterator *it)
{
	uint32_t i, at = 0, count;

	for (i = 0; at < it->n; i++) { /* where the bucket begins */
		count = it->counts[i];
		it->counts[i] = at;
		at += count;
	}
	for (i = 0; i < it->n; i++)
		it->sorted[it->counts[it->keys[i] >> 32 >> it->shift]++] = it->keys[i];
	if (it->shift > 0)
		sort_buckets(it->sorted, it->n);
}

/* Lay out the next rounds of single samples; the window after that has twice as many. */
static void fill_single(struct sfs_iterator *it)
{
	const struct sfs_order *o = it->order;
	uint64_t left = o->n_samples - it->time * o->n_lanes, n = it->span * o->n_lanes;
	uint32_t lane = 0, m = (uint32_t)it->time, i;
	sfs_autofree uint32_t *numbers = NULL;

	if (n < N_WINDOW)
		n = (N_WINDOW / o->n_lanes) * o->n_lanes;
	it->span = n / o->n_lanes;
	n = n < left ? n : left;
	have_window(it, n);
	numbers = sfs_reallocarray(NULL, n, sizeof *numbers);
	for (i = 0; i < n; i++) {
		it->window[i].m = m;
		numbers[i] = sfs_order_number(o, lane, m);
		if (++lane == o->n_lanes) {
			lane = 0;
			m++;
		}
	}
	sfs_lookup(&o->numbering, &it->tables, numbers, n, it->window);
	it->i = 0;
	it->n = (uint32_t)n;
	it->n_left = n < left ? o->n_lanes : 0;
	it->time += it->span;
	if (2 * it->span * o->n_lanes <= N_SINGLE)
		it->span *= 2;
}

/* Choose buckets for the window, as few units of time long as their number allows. */
static void begin_buckets(struct sfs_iterator *it)
{
	uint64_t last = it->span - 1;

	for (it->shift = 0; last >> it->shift >= N_BUCKETS;)
		it->shift++;
	memset(it->counts, 0, ((last >> it->shift) + 1) * sizeof *it->counts);
}

/* The next window shall have about as many samples as it should. */
static void set_span(struct sfs_iterator *it)
{
	if (it->n < N_WINDOW / 2 && it->span < SFS_TIMES)
		it->span *= 2;
	else if (it->n > N_WINDOW && it->span > 1)
		it->span /= 2;
}

/* Lay out the next window; it may be empty. */
static void fill(struct sfs_iterator *it)
{
	uint32_t n = it->n_left, n_left = 0, k;
	struct sfs_iterator_lane *lane;
	bool is_dealt = sfs_order_is_dealt(it->order);

	it->n_ahead = is_dealt ? it->n / (n + 1) + 2 : (uint32_t)it->span;
	it->i = it->n = 0;
	if (is_dealt)
		begin_buckets(it);
	else
		have_window(it, n * it->span);
	for (k = 0; k < n; k++) {
		if (k % N_GROUP == 0)
			prefetch(it, k, n);
		lane = &it->lanes[it->left[k]];
		if (is_dealt ? lay_out(it, lane) : lay_out_turns(it, lane, k))
			it->left[n_left++] = it->left[k];
	}
	it->n_left = n_left;
	it->time += it->span;
	if (!is_dealt)
		return;
	sort(it);
	set_span(it);
}

const struct sfs_block_sample *sfs_iterator_next(struct sfs_iterator *it)
{
	uint32_t i;

	while (it->i == it->n) {
		if (it->n_left == 0)
			return NULL;
		if (sfs_order_is_single(it->order))
			fill_single(it);
		else
			fill(it);
	}
	i = it->i++;
	return &it->window[it->sorted ? (uint32_t)it->sorted[i] : i];
}

void sfs_iterator_seek(struct sfs_iterator *it, struct sfs_locator *map, uint64_t time)
{
	struct sfs_iterator_lane *lane;
	uint32_t l, shard;
	uint64_t number;
	int ret;

	it->i = it->n = 0;
	it->n_left = 0;
	it->time = time;
	if (sfs_order_is_single(it->order)) {
		it->span = 1;
		it->n_left = time * it->order->n_lanes < it->order->n_samples;
		return;
	}
	for (l = 0; l < it->order->n_lanes; l++) {
		lane = &it->lanes[l];
		ret = sfs_locator_count(map, l, time, &number, &shard);
		if (ret == 0)
			ret = sfs_locator_seek(map, l, number, &lane->at, &lane->block,
					       &shard);
		assert(ret == 0 || ret == -ENODATA); /* all tables are whole */
		if (ret < 0)
			continue;
		lane->t = number - lane->block.first;
		it->left[it->n_left++] = l;
	}
}

uint64_t sfs_iterator_memory(const struct sfs_iterator *it)
{
	uint64_t n_lanes = it->order ? it->order->n_lanes : 0, n, l;

	if (it->order && sfs_order_is_single(it->order))
		return it->capacity * sizeof *it->window;
	n = n_lanes * (sizeof *it->lanes + sizeof *it->left) +
	    N_BUCKETS * sizeof *it->counts +
	    it->capacity * (sizeof *it->window + sizeof *it->keys + sizeof *it->sorted);
	for (l = 0; l < n_lanes; l++)
		n += it->lanes[l].block.capacity *
		     (sizeof *it->lanes[l].block.samples +
		      sizeof *it->lanes[l].block.perm + sizeof *it->lanes[l].block.times);
	return n;
}
