/* SPDX-License-Identifier: MIT */
/* How this works: to read 100 million lengths as they lie takes a second; in the order of
 * the epoch it would take ten, for each is a cache miss.  So the pass asks the grid where
 * in the epoch each sample is, and adds its length to the sum that this falls in: those
 * fit into a cache. */
#include "order/sums.h"

#include "base/alloc.h"

#include <assert.h>

#define STEP ((uint64_t)1 << SFS_SUMS_SHIFT)

/* Which sample of the part has position p of the epoch?  false: none. */
static bool number_in_part(const struct sfs_order *o, uint32_t p, uint64_t *ret_k)
{
	uint32_t lanes = o->lanes, lane = p % lanes, own, first, step;

	if (o->share.step == 1) {
		*ret_k = p;
		return true;
	}
	first = (uint32_t)o->share.first;
	step = o->share.step < lanes ? (uint32_t)o->share.step : lanes;
	if (lane < first)
		return false;
	own = (lane - first) / step;
	*ret_k = (uint64_t)(p / lanes) * o->n_lanes + own;
	return own * step == lane - first && *ret_k < o->n_samples;
}

static uint64_t length_at(const struct sfs_sums *s, uint64_t k)
{
	struct sfs_slice at = sfs_order_slice(s->order, (uint32_t)(k % s->order->n_lanes),
					      (uint32_t)(k / s->order->n_lanes));
	const struct sfs_sample_table *table = s->tables.get(s->tables.ctx, at.shard);

	return sfs_sample_table_place(table, (uint64_t)at.first + 1) -
	       sfs_sample_table_place(table, at.first);
}

/* Add the bytes of sample k of the part to sums[k >> shift], for each k. */
static void add_all(const struct sfs_sums *s, int shift, uint64_t *sums)
{
	const struct sfs_order *o = s->order;
	const struct sfs_sample_table *table;
	uint64_t i, n, k, end, before;
	uint32_t shard, x = 0;

	for (shard = 0; shard < o->numbering.n_shards; shard++) {
		table = s->tables.get(s->tables.ctx, shard);
		assert(table && sfs_sample_table_state(table) == SFS_SAMPLE_TABLE_WHOLE);
		n = sfs_sample_table_n(table);
		for (i = 0, before = 0; i < n; i++, before = end) {
			end = sfs_sample_table_entry_at(table, i)->end;
			if (number_in_part(o, sfs_grid_position(&o->grid, x++), &k))
				sums[k >> shift] += (end - before) * SFS_TAR_BLOCK;
		}
	}
	if (o->repeating != SFS_NO_LANE) /* it is the last */
		sums[(o->n_samples - 1) >> shift] += length_at(s, o->n_samples - 1);
}

static uint64_t count_steps(const struct sfs_order *o)
{
	return o->n_samples / STEP + 2;
}

void sfs_sums_init(struct sfs_sums *s, const struct sfs_order *order,
		   const struct sfs_sample_tables *tables)
{
	uint64_t i;

	*s = (struct sfs_sums){.order = order, .tables = *tables};
	s->before = sfs_calloc(count_steps(order), sizeof *s->before);
	add_all(s, SFS_SUMS_SHIFT, s->before + 1);
	for (i = 1; i < count_steps(order); i++)
		s->before[i] += s->before[i - 1];
}

void sfs_sums_done(struct sfs_sums *s)
{
	free(steal(&s->before));
}

uint64_t sfs_sums_before(const struct sfs_sums *s, uint64_t k)
{
	uint64_t n_bytes = s->before[k / STEP], i;

	for (i = k / STEP * STEP; i < k; i++)
		n_bytes += length_at(s, i);
	return n_bytes;
}

uint64_t sfs_sums_find(const struct sfs_sums *s, uint64_t offset, uint64_t *ret_start)
{
	uint64_t low = 0, high = s->order->n_samples / STEP, middle, k, start, end;

	while (low < high) { /* the last step that begins at or before the byte */
		middle = high - (high - low) / 2;
		if (s->before[middle] <= offset)
			low = middle;
		else
			high = middle - 1;
	}
	start = s->before[low];
	for (k = low * STEP; k < s->order->n_samples; k++, start = end) {
		end = start + length_at(s, k);
		if (offset < end)
			break;
	}
	*ret_start = start;
	return k;
}

uint64_t sfs_sums_all(const struct sfs_order *order,
		      const struct sfs_sample_tables *tables)
{
	const struct sfs_sums s = {.order = order, .tables = *tables};
	uint64_t n_bytes = 0;

	add_all(&s, 63, &n_bytes);
	return n_bytes;
}

uint64_t sfs_sums_memory(const struct sfs_order *order)
{
	return count_steps(order) * sizeof(uint64_t);
}
