/* SPDX-License-Identifier: MIT */
/* How this works: only pieces that are known to their end can be shuffled, so a lane has
 * K leading samples whose order is certain.  The epoch is certain up to the first sample
 * that is number K of its lane, or may be: of a sample that is not known yet, the
 * earliest time is.
 *
 * Equal lanes take turns: the time of a sample is its number.  The slices of such a lane
 * say how much they have, so it is known from the start, and has no edge.
 */
#include "order/locate-known.h"

#include "base/alloc.h"

#include <errno.h>

struct sfs_known_kind {
	/* The first sample of slice i, before index `end`, at or after a place. */
	uint64_t (*index_at)(const struct sfs_known *k, size_t i,
			     const struct sfs_sample_table *table, uint64_t end,
			     uint64_t place);

	/* These as the functions of their names. */
	uint64_t (*place)(const struct sfs_known *k, size_t i,
			  const struct sfs_sample_table *table, uint64_t index);
	int (*time)(const struct sfs_known *k, uint32_t lane, uint64_t number,
		    uint64_t *ret_time, uint32_t *ret_shard);
	int (*count_before)(const struct sfs_known *k, uint32_t lane, uint64_t time,
			    uint64_t *ret_n, uint32_t *ret_shard);
	uint64_t (*last_time)(const struct sfs_known *k); /* if all is certain */
};

static const struct sfs_known_kind dealt_kind, equal_kind;

static uint64_t lower(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* The last of the lane's slices is known. */
static void complete(struct sfs_known *k, uint32_t lane, uint64_t n, uint64_t bytes)
{
	struct sfs_known_lane *kl = &k->lanes[lane];

	kl->n_whole = kl->n_slices;
	kl->n = n;
	kl->bytes = bytes;
	kl->n_certain = kl->n;
}

void sfs_known_init(struct sfs_known *k, const struct sfs_order *order,
		    const struct sfs_sample_tables *tables,
		    bool (*totals)(void *, uint32_t, uint64_t *, uint64_t *))
{
	bool is_single = sfs_order_is_single(order);
	uint64_t n_slices = is_single ? 0 : sfs_order_slices(order);
	uint32_t l;

	*k = (struct sfs_known){.order = order, .tables = *tables, .totals = totals};
	k->n_before = sfs_calloc(n_slices, sizeof *k->n_before);
	k->bytes_before = sfs_calloc(n_slices, sizeof *k->bytes_before);
	k->lanes = sfs_calloc(order->n_lanes, sizeof *k->lanes);
	for (l = 0; l < order->n_lanes; l++) {
		k->lanes[l].n_slices = sfs_order_lane_slices(order, l);
		if (is_single)
			complete(k, l, k->lanes[l].n_slices, 0);
	}
	k->kind = sfs_order_is_dealt(order) ? &dealt_kind : &equal_kind;
	k->places = sfs_order_is_dealt(order) ? order->bases : k->bytes_before;
	k->edge_time = SFS_NEVER; /* until sfs_known_update() looks */
}

void sfs_known_done(struct sfs_known *k)
{
	free(k->n_before);
	free(k->bytes_before);
	free(k->lanes);
	*k = (struct sfs_known){0};
}

/* ---- slices ---- */

uint32_t sfs_known_find_slice(const struct sfs_known *k, uint32_t lane,
			      const uint64_t *list, uint64_t most)
{
	uint32_t low = 0, high = k->lanes[lane].n_whole, middle;

	if (sfs_known_is_complete(k, lane) && high > 0)
		high--;
	while (low < high) {
		middle = high - (high - low) / 2;
		if (list[sfs_known_slice(k, lane, middle)] <= most)
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

/* How many samples of its lane come before the end of slice m, as far as is known. */
static uint64_t n_to_end(const struct sfs_known *k, uint32_t lane, uint32_t m)
{
	const struct sfs_known_lane *kl = &k->lanes[lane];

	return m < kl->n_whole && m + 1 < kl->n_slices
		       ? k->n_before[sfs_known_slice(k, lane, m + 1)]
		       : kl->n;
}

/* A table that was dropped may grow again: then it is as good as none. */
const struct sfs_sample_table *sfs_known_table(const struct sfs_known *k, uint32_t lane,
					       uint32_t m)
{
	const struct sfs_slice slice = sfs_order_slice(k->order, lane, m);
	const struct sfs_sample_table *table = k->tables.get(k->tables.ctx, slice.shard);
	uint64_t n = n_to_end(k, lane, m) - k->n_before[sfs_known_slice(k, lane, m)];

	return table && sfs_sample_table_n(table) >= slice.first + n ? table : NULL;
}

uint64_t sfs_known_bytes_to(const struct sfs_known *k, size_t i,
			    const struct sfs_sample_table *table, uint64_t index)
{
	return k->bytes_before[i] + sfs_sample_table_place(table, index) -
	       sfs_sample_table_place(table, k->order->slices[i].first);
}

uint64_t sfs_known_place(const struct sfs_known *k, size_t i,
			 const struct sfs_sample_table *table, uint64_t index)
{
	return k->kind->place(k, i, table, index);
}

int sfs_known_find_place(const struct sfs_known *k, uint32_t lane, uint64_t place,
			 struct sfs_lane *ret_at, uint32_t *ret_shard)
{
	uint32_t m = sfs_known_find_slice(k, lane, k->places, place);
	size_t i = sfs_known_slice(k, lane, m);
	const struct sfs_slice *slice = &k->order->slices[i];
	const struct sfs_sample_table *table = sfs_known_table(k, lane, m);
	uint64_t end;

	*ret_shard = slice->shard;
	if (!table)
		return -EAGAIN;
	end = sfs_slice_end(slice, sfs_sample_table_n(table));
	ret_at->m = m;
	ret_at->index = k->kind->index_at(k, i, table, end, place);
	ret_at->number = k->n_before[i] + ret_at->index - slice->first;
	return 0;
}

/* ---- times ---- */

int sfs_known_time(const struct sfs_known *k, uint32_t lane, uint64_t number,
		   uint64_t *ret_time, uint32_t *ret_shard)
{
	return k->kind->time(k, lane, number, ret_time, ret_shard);
}

int sfs_known_count_before(const struct sfs_known *k, uint32_t lane, uint64_t time,
			   uint64_t *ret_n, uint32_t *ret_shard)
{
	return k->kind->count_before(k, lane, time, ret_n, ret_shard);
}

uint64_t sfs_known_last_time(const struct sfs_known *k)
{
	return k->edge_time != SFS_NEVER ? k->edge_time : k->kind->last_time(k);
}

/* ---- dealt lanes ---- */

static uint64_t dealt_index_at(const struct sfs_known *k, size_t i,
			       const struct sfs_sample_table *table, uint64_t end,
			       uint64_t place)
{
	return sfs_sample_table_from(table, end, sfs_order_offset_of(k->order, i, place));
}

static uint64_t dealt_place(const struct sfs_known *k, size_t i,
			    const struct sfs_sample_table *table, uint64_t index)
{
	return sfs_order_place_of(k->order, i, sfs_sample_table_start(table, index));
}

/* V of sample n of slice i. */
static uint64_t v_in_slice(const struct sfs_known *k, size_t i,
			   const struct sfs_sample_table *table, uint64_t n)
{
	const uint64_t first = k->order->slices[i].first;
	uint64_t v = 0, j;

	for (j = 1; j <= 3; j++)
		v += j > n ? k->places[i]
			   : sfs_order_place_of(
				     k->order, i,
				     sfs_sample_table_end_of(table, first + n - j));
	return v;
}

/* How many leading samples of slice i have a V of less than v.  V is at most three times
 * the sample's place, and at least that of the third sample before. */
static uint64_t find_v(const struct sfs_known *k, size_t i,
		       const struct sfs_sample_table *table, uint64_t v)
{
	const struct sfs_slice *slice = &k->order->slices[i];
	uint64_t end = sfs_slice_end(slice, sfs_sample_table_n(table));
	uint64_t index = dealt_index_at(k, i, table, end, (v + 2) / 3);

	while (index < end && v_in_slice(k, i, table, index - slice->first) < v)
		index++;
	return index - slice->first;
}

/* The time of sample n of a lane's slice m; if it does not exist, a time no later than
 * that of the next one.  (The first one's is known without the table.) */
static int time_in_slice(const struct sfs_known *k, uint32_t lane, uint32_t m, uint64_t n,
			 uint64_t *ret_time, uint32_t *ret_shard)
{
	const struct sfs_sample_table *table = sfs_known_table(k, lane, m);
	uint64_t v, most = 3 * sfs_order_base(k->order, lane, m + 1);

	*ret_shard = sfs_order_slice(k->order, lane, m).shard;
	if (n > 0 && !table)
		return -EAGAIN;
	v = v_in_slice(k, sfs_known_slice(k, lane, m), table, n);
	*ret_time = sfs_order_time(k->order, lane, v < most ? v : most);
	return 0;
}

static int dealt_time(const struct sfs_known *k, uint32_t lane, uint64_t number,
		      uint64_t *ret_time, uint32_t *ret_shard)
{
	uint32_t m = sfs_known_find_slice(k, lane, k->n_before, number);

	number -= k->n_before[sfs_known_slice(k, lane, m)];
	return time_in_slice(k, lane, m, number, ret_time, ret_shard);
}

static int dealt_count_before(const struct sfs_known *k, uint32_t lane, uint64_t time,
			      uint64_t *ret_n, uint32_t *ret_shard)
{
	const struct sfs_sample_table *table;
	uint64_t v;
	uint32_t m;
	size_t i;

	if (sfs_known_is_complete(k, lane) && time >= SFS_TIMES) {
		*ret_n = lower(time, k->lanes[lane].n);
		return 0;
	}
	v = sfs_order_v_at(k->order, lane, lower(time, SFS_TIMES));
	*ret_n = 0;
	if (v == 0)
		return 0;
	m = sfs_known_find_slice(k, lane, k->places, (v - 1) / 3);
	i = sfs_known_slice(k, lane, m);
	*ret_n = k->n_before[i];
	if (*ret_n == n_to_end(k, lane, m))
		return 0;
	table = sfs_known_table(k, lane, m);
	*ret_shard = k->order->slices[i].shard;
	if (!table)
		return -EAGAIN;
	*ret_n += find_v(k, i, table, v);
	return 0;
}

static uint64_t dealt_last_time(const struct sfs_known *k)
{
	return SFS_TIMES;
}

static const struct sfs_known_kind dealt_kind = {dealt_index_at, dealt_place, dealt_time,
						 dealt_count_before, dealt_last_time};

/* ---- equal lanes ---- */

static uint64_t equal_index_at(const struct sfs_known *k, size_t i,
			       const struct sfs_sample_table *table, uint64_t end,
			       uint64_t place)
{
	uint64_t first = k->order->slices[i].first;

	return sfs_sample_table_find(table, end,
				     place - k->places[i] +
					     sfs_sample_table_place(table, first));
}

static int equal_time(const struct sfs_known *k, uint32_t lane, uint64_t number,
		      uint64_t *ret_time, uint32_t *ret_shard)
{
	*ret_time = number;
	return 0;
}

static int equal_count_before(const struct sfs_known *k, uint32_t lane, uint64_t time,
			      uint64_t *ret_n, uint32_t *ret_shard)
{
	*ret_n = lower(time, k->lanes[lane].n);
	return 0;
}

static uint64_t equal_last_time(const struct sfs_known *k)
{
	uint64_t last = 0;
	uint32_t l;

	for (l = 0; l < k->order->n_lanes; l++)
		if (k->lanes[l].n > last)
			last = k->lanes[l].n;
	return last;
}

static const struct sfs_known_kind equal_kind = {equal_index_at, sfs_known_bytes_to,
						 equal_time, equal_count_before,
						 equal_last_time};

/* ---- the edge ---- */

/* Of a dealt lane that is not complete: how many leading samples are certain, and when
 * the next one may be due.  `table` is that of the slice that is growing, or NULL. */
static int find_certain(struct sfs_known *k, uint32_t lane,
			const struct sfs_sample_table *table, uint32_t *ret_shard)
{
	struct sfs_known_lane *kl = &k->lanes[lane];
	uint64_t base = sfs_order_base(k->order, lane, kl->n_whole), place = base;
	uint64_t n_before = k->n_before[sfs_known_slice(k, lane, kl->n_whole)];
	uint64_t n = kl->n - n_before;
	struct sfs_lane at = {.m = kl->n_whole, .number = n_before};
	int ret;

	if (n > 0)
		place = sfs_order_place_of(k->order,
					   sfs_known_slice(k, lane, kl->n_whole),
					   sfs_sample_table_end_of(table, n - 1));
	if (place > sfs_order_base(k->order, lane, kl->n_whole + 1))
		place = sfs_order_base(k->order, lane, kl->n_whole + 1);
	place = sfs_order_piece_start(k->order, sfs_order_piece(k->order, place));
	if (n_before + n > 0 && (place < base || n > 0)) {
		ret = sfs_known_find_place(k, lane, place, &at, ret_shard);
		if (ret < 0)
			return ret;
	}
	kl->n_certain = at.number;
	if (at.number < n_before)
		return sfs_known_time(k, lane, at.number, &kl->edge_time, ret_shard);
	return time_in_slice(k, lane, kl->n_whole, at.number - n_before, &kl->edge_time,
			     ret_shard);
}

/* The sums of a slice, if they are known. */
static bool totals_of(const struct sfs_known *k, const struct sfs_slice *slice,
		      uint64_t *ret_n, uint64_t *ret_bytes)
{
	if (slice->n == SFS_SLICE_ALL)
		return k->totals(k->tables.ctx, slice->shard, ret_n, ret_bytes);
	*ret_n = slice->n;
	*ret_bytes = (uint64_t)slice->n_blocks * SFS_TAR_BLOCK;
	return true;
}

/* Take account of tables that have grown.  -EAGAIN: one is not in memory. */
static int update_lane(struct sfs_known *k, uint32_t lane, uint32_t *ret_shard)
{
	struct sfs_known_lane *kl = &k->lanes[lane];
	const struct sfs_sample_table *table;
	uint64_t n, bytes;
	size_t i;

	if (sfs_known_is_complete(k, lane))
		return 0;
	for (;; kl->n_whole++) {
		i = sfs_known_slice(k, lane, kl->n_whole);
		if (!totals_of(k, &k->order->slices[i], &n, &bytes))
			break;
		n += k->n_before[i];
		bytes += k->bytes_before[i];
		if (kl->n_whole + 1 == kl->n_slices) {
			complete(k, lane, n, bytes);
			return 0;
		}
		k->n_before[i + 1] = n;
		k->bytes_before[i + 1] = bytes;
	}
	i = sfs_known_slice(k, lane, kl->n_whole);
	table = k->tables.get(k->tables.ctx, k->order->slices[i].shard);
	kl->is_damaged =
		table && sfs_sample_table_state(table) == SFS_SAMPLE_TABLE_DAMAGED;
	kl->n = k->n_before[i] + (table ? sfs_sample_table_n(table) : 0);
	return find_certain(k, lane, table, ret_shard);
}

int sfs_known_update(struct sfs_known *k, uint32_t *ret_shard)
{
	uint32_t l;
	int ret;

	k->edge_time = SFS_NEVER;
	for (l = 0; l < k->order->n_lanes; l++) {
		ret = update_lane(k, l, ret_shard);
		if (ret < 0)
			return ret;
		if (!sfs_known_is_complete(k, l) &&
		    k->lanes[l].edge_time < k->edge_time) {
			k->edge_time = k->lanes[l].edge_time;
			k->edge_lane = l;
		}
	}
	return 0;
}

int sfs_known_explain_edge(const struct sfs_known *k, uint32_t *ret_shard)
{
	const struct sfs_known_lane *kl = &k->lanes[k->edge_lane];

	*ret_shard = sfs_order_slice(k->order, k->edge_lane, kl->n_whole).shard;
	return kl->is_damaged ? -EBADMSG : -EAGAIN;
}

bool sfs_known_is_past_edge(const struct sfs_known *k, const struct sfs_spot *spot)
{
	if (spot->time != k->edge_time)
		return spot->time > k->edge_time;
	if (spot->lane != k->edge_lane)
		return spot->lane > k->edge_lane;
	return spot->number >= k->lanes[spot->lane].n_certain;
}
