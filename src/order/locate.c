/* SPDX-License-Identifier: MIT */
/* How this works: a lane is known up to the end of its leading whole slices, and the part
 * of the next one that its table has so far.  Only pieces that are known to their end can
 * be shuffled, so a lane has K leading samples whose order is certain.  The epoch is
 * certain up to the first sample that is number K of its lane, or may be: of a sample
 * that is not known yet, the earliest time is.
 *
 * A lane's times rise with its samples, as they lie and as they leave.  So how many of
 * them come before a time is a search over its slices, and then in one table; their bytes
 * are a prefix sum and a part of one block.  The sum over all lanes is what a search over
 * time goes by.
 *
 * Of single samples all but the bytes is known from the start, and those the sums know.
 */
#include "order/locate.h"

#include "base/alloc.h"

#include <errno.h>

/* Samples of a lane that come first, and their bytes. */
struct leading {
	uint64_t n, bytes;
};

struct sfs_locator_lane {
	uint32_t n_slices, n_whole; /* of its slices, and the leading whole ones */
	uint64_t n_known,
		bytes_known; /* samples and bytes, the part of the next included */
	uint64_t n_certain;  /* K */
	uint64_t edge_time;  /* the earliest that sample K can have */
	bool is_damaged;     /* the next slice is damaged, not unknown */

	/* A search: what comes before times that are too early, tried, and too late. */
	struct leading early, tried, late;
	uint64_t number; /* its samples before map->at */

	/* The block that was used last. */
	struct sfs_lane lane;
	struct sfs_block block;
	uint64_t block_bytes; /* of the lane's samples before the block */
	bool has_block;
};

static uint64_t lower(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* The index of a lane's slice m among all slices. */
static size_t slice_of(const struct sfs_locator *map, uint32_t lane, uint32_t m)
{
	return (size_t)map->order->lane_start[lane] + m;
}

/* How many samples of its lane come before the end of slice m, as far as is known. */
static uint64_t n_to_end(const struct sfs_locator *map, uint32_t lane, uint32_t m)
{
	const struct sfs_locator_lane *ml = &map->lanes[lane];

	return m < ml->n_whole && m + 1 < ml->n_slices
		       ? map->n_before[slice_of(map, lane, m + 1)]
		       : ml->n_known;
}

/* The table of a slice, if it has all samples that are known of the slice.  One that was
 * dropped may grow again: then it is as good as none. */
static const struct sfs_sample_table *table_of(const struct sfs_locator *map,
					       uint32_t lane, uint32_t m)
{
	const struct sfs_slice slice = sfs_order_slice(map->order, lane, m);
	const struct sfs_sample_table *table =
		map->tables.get(map->tables.ctx, slice.shard);
	uint64_t n = n_to_end(map, lane, m) - map->n_before[slice_of(map, lane, m)];

	return table && sfs_sample_table_n(table) >= slice.first + n ? table : NULL;
}

/* The sums of a slice, if they are known. */
static bool totals_of(const struct sfs_locator *map, const struct sfs_slice *slice,
		      uint64_t *ret_n, uint64_t *ret_bytes)
{
	if (slice->n == SFS_SLICE_ALL)
		return map->totals(map->tables.ctx, slice->shard, ret_n, ret_bytes);
	*ret_n = slice->n;
	*ret_bytes = (uint64_t)slice->n_blocks * SFS_TAR_BLOCK;
	return true;
}

/* The last of the lane's slices is known. */
static void complete(struct sfs_locator *map, uint32_t lane, uint64_t n, uint64_t bytes)
{
	struct sfs_locator_lane *ml = &map->lanes[lane];

	ml->n_whole = ml->n_slices;
	ml->n_known = n;
	ml->bytes_known = bytes;
	ml->n_certain = ml->n_known;
}

void sfs_locator_init(struct sfs_locator *map, const struct sfs_order *order,
		      const struct sfs_sample_tables *tables,
		      bool (*totals)(void *, uint32_t, uint64_t *, uint64_t *))
{
	bool is_single = sfs_order_is_single(order);
	uint64_t n_slices = is_single ? 0 : sfs_order_slices(order);
	uint32_t l;

	*map = (struct sfs_locator){.order = order, .tables = *tables, .totals = totals};
	map->n_before = sfs_calloc(n_slices, sizeof *map->n_before);
	map->bytes_before = sfs_calloc(n_slices, sizeof *map->bytes_before);
	map->lanes = sfs_calloc(order->n_lanes, sizeof *map->lanes);
	for (l = 0; l < order->n_lanes; l++) {
		map->lanes[l].n_slices = sfs_order_lane_slices(order, l);
		if (is_single)
			complete(map, l, map->lanes[l].n_slices, 0);
	}
	map->edge_time = SFS_NEVER; /* until sfs_locator_find() looks */
	sfs_merge_init(&map->merge, order->n_lanes);
}

void sfs_locator_done(struct sfs_locator *map)
{
	uint32_t l;

	for (l = 0; map->lanes && l < map->order->n_lanes; l++)
		sfs_block_done(&map->lanes[l].block);
	sfs_merge_done(&map->merge);
	free(map->n_before);
	free(map->bytes_before);
	sfs_sums_done(&map->sums);
	free(map->lanes);
	*map = (struct sfs_locator){0};
}

uint64_t sfs_locator_memory(const struct sfs_order *order)
{
	uint64_t n = sfs_order_is_single(order)
			     ? sfs_sums_memory(order)
			     : 2 * sfs_order_slices(order) * sizeof(uint64_t);

	return n + order->n_lanes * (sizeof(struct sfs_locator_lane) + sizeof(uint64_t));
}

/* ---- what is known ---- */

static bool is_complete(const struct sfs_locator_lane *ml)
{
	return ml->n_whole == ml->n_slices;
}

/* The last of the lane's slices, as far as they are known, at which this rising list of
 * a number for each slice of the order is at most `most`. */
static uint32_t find_slice(const struct sfs_locator *map, uint32_t lane,
			   const uint64_t *list, uint64_t most)
{
	const struct sfs_locator_lane *ml = &map->lanes[lane];
	uint32_t low = 0, high = ml->n_whole, middle;

	if (is_complete(ml) && high > 0)
		high--;
	while (low < high) {
		middle = high - (high - low) / 2;
		if (list[slice_of(map, lane, middle)] <= most)
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

/* Set the number, slice and index of *ret_at to the lane's first sample at or after
 * `place`, which is within what is known.  -EAGAIN: the table is not loaded. */
static int find_place(const struct sfs_locator *map, uint32_t lane, uint64_t place,
		      struct sfs_lane *ret_at, uint32_t *ret_shard)
{
	const uint64_t *places =
		sfs_order_is_dealt(map->order) ? map->order->bases : map->bytes_before;
	uint32_t m = find_slice(map, lane, places, place);
	size_t i = slice_of(map, lane, m);
	const struct sfs_slice *slice = &map->order->slices[i];
	const struct sfs_sample_table *table = table_of(map, lane, m);
	uint64_t end;

	*ret_shard = slice->shard;
	if (!table)
		return -EAGAIN;
	end = sfs_slice_end(slice, sfs_sample_table_n(table));
	ret_at->m = m;
	if (sfs_order_is_dealt(map->order))
		ret_at->index = sfs_sample_table_from(table, end, place - places[i]);
	else
		ret_at->index = sfs_sample_table_find(
			table, end,
			place - places[i] + sfs_sample_table_place(table, slice->first));
	ret_at->number = map->n_before[i] + ret_at->index - slice->first;
	return 0;
}

/* V of sample `index` of a dealt lane's slice m, without three times the slice's base. */
static uint64_t v_in_slice(const struct sfs_sample_table *table, uint64_t index)
{
	uint64_t v = 0, k;

	for (k = 1; k <= 3 && k <= index; k++)
		v += sfs_sample_table_end_of(table, index - k);
	return v;
}

/* The time of sample `index` of a dealt lane's slice m, if it exists.  (The first one's
 * is known without the table.) */
static int time_in_slice(const struct sfs_locator *map, uint32_t lane, uint32_t m,
			 uint64_t index, uint64_t *ret_time, uint32_t *ret_shard)
{
	const struct sfs_sample_table *table = table_of(map, lane, m);
	uint64_t v = 3 * sfs_order_base(map->order, lane, m);

	*ret_shard = sfs_order_slice(map->order, lane, m).shard;
	if (index > 0 && !table)
		return -EAGAIN;
	if (index > 0)
		v += v_in_slice(table, index);
	*ret_time = sfs_order_time(map->order, lane, v);
	return 0;
}

/* The time of the lane's sample `number`, which is known. */
static int time_of(const struct sfs_locator *map, uint32_t lane, uint64_t number,
		   uint64_t *ret_time, uint32_t *ret_shard)
{
	uint32_t m;

	*ret_time = number;
	if (!sfs_order_is_dealt(map->order))
		return 0;
	m = find_slice(map, lane, map->n_before, number);
	number -= map->n_before[slice_of(map, lane, m)];
	return time_in_slice(map, lane, m, number, ret_time, ret_shard);
}

/* Of a dealt lane that is not complete: how many leading samples are certain, and when
 * the next one may be due.  `table` is that of the slice that is growing, or NULL. */
static int find_certain(struct sfs_locator *map, uint32_t lane,
			const struct sfs_sample_table *table, uint32_t *ret_shard)
{
	struct sfs_locator_lane *ml = &map->lanes[lane];
	uint64_t base = sfs_order_base(map->order, lane, ml->n_whole), place = base;
	uint64_t n_before = map->n_before[slice_of(map, lane, ml->n_whole)];
	uint64_t n = ml->n_known - n_before;
	struct sfs_lane at = {.m = ml->n_whole, .number = n_before};
	int ret;

	if (n > 0)
		place += sfs_sample_table_end_of(table, n - 1);
	place = sfs_order_piece_start(map->order, sfs_order_piece(map->order, place));
	if (n_before + n > 0 && (place < base || n > 0)) {
		ret = find_place(map, lane, place, &at, ret_shard);
		if (ret < 0)
			return ret;
	}
	ml->n_certain = at.number;
	if (at.number < n_before)
		return time_of(map, lane, at.number, &ml->edge_time, ret_shard);
	return time_in_slice(map, lane, ml->n_whole, at.number - n_before, &ml->edge_time,
			     ret_shard);
}

/* Take account of tables that have grown.  -EAGAIN: one is not in memory. */
static int update_lane(struct sfs_locator *map, uint32_t lane, uint32_t *ret_shard)
{
	struct sfs_locator_lane *ml = &map->lanes[lane];
	const struct sfs_sample_table *table;
	uint64_t n, bytes;
	size_t i;

	if (is_complete(ml))
		return 0;
	for (;; ml->n_whole++) {
		i = slice_of(map, lane, ml->n_whole);
		if (!totals_of(map, &map->order->slices[i], &n, &bytes))
			break;
		n += map->n_before[i];
		bytes += map->bytes_before[i];
		if (ml->n_whole + 1 == ml->n_slices) {
			complete(map, lane, n, bytes);
			return 0;
		}
		map->n_before[i + 1] = n;
		map->bytes_before[i + 1] = bytes;
	}
	i = slice_of(map, lane, ml->n_whole);
	table = map->tables.get(map->tables.ctx, map->order->slices[i].shard);
	ml->is_damaged =
		table && sfs_sample_table_state(table) == SFS_SAMPLE_TABLE_DAMAGED;
	ml->n_known = map->n_before[i] + (table ? sfs_sample_table_n(table) : 0);
	return find_certain(map, lane, table, ret_shard);
}

/* Find the first sample whose order is not certain: its lane and time. */
static int update(struct sfs_locator *map, uint32_t *ret_shard)
{
	struct sfs_locator_lane *ml;
	uint32_t l;
	int ret;

	map->edge_time = SFS_NEVER;
	map->has_merge = false;
	for (l = 0; l < map->order->n_lanes; l++) {
		ret = update_lane(map, l, ret_shard);
		if (ret < 0)
			return ret;
		ml = &map->lanes[l];
		if (!is_complete(ml) && ml->edge_time < map->edge_time) {
			map->edge_time = ml->edge_time;
			map->edge_lane = l;
		}
	}
	return 0;
}

static int at_edge(const struct sfs_locator *map, uint32_t *ret_shard)
{
	const struct sfs_locator_lane *ml = &map->lanes[map->edge_lane];

	*ret_shard = sfs_order_slice(map->order, map->edge_lane, ml->n_whole).shard;
	return ml->is_damaged ? -EBADMSG : -EAGAIN;
}

static bool is_past_edge(const struct sfs_locator *map, const struct sfs_spot *spot)
{
	if (spot->time != map->edge_time)
		return spot->time > map->edge_time;
	if (spot->lane != map->edge_lane)
		return spot->lane > map->edge_lane;
	return spot->number >= map->lanes[spot->lane].n_certain;
}

/* The last of the lane's samples whose order is certain, + 1. */
static uint64_t certain(const struct sfs_locator_lane *ml)
{
	return is_complete(ml) ? ml->n_known : ml->n_certain;
}

/* ---- blocks ---- */

/* The bytes of the lane before a sample of slice i, as they lie. */
static uint64_t bytes_to(const struct sfs_locator *map, size_t i,
			 const struct sfs_sample_table *table, uint64_t index)
{
	return map->bytes_before[i] + sfs_sample_table_place(table, index) -
	       sfs_sample_table_place(table, map->order->slices[i].first);
}

/* The place of a sample of slice i. */
static uint64_t place_of(const struct sfs_locator *map, size_t i,
			 const struct sfs_sample_table *table, uint64_t index)
{
	return sfs_order_is_dealt(map->order)
		       ? map->order->bases[i] + sfs_sample_table_start(table, index)
		       : bytes_to(map, i, table, index);
}

/* A block that is not the lane's first sample begins behind it. */
static void leave_first(struct sfs_lane *at)
{
	if (at->m > 0 || !sfs_order_is_alone(at->order, at->lane, 0))
		return;
	at->m = 1;
	at->index = sfs_order_slice(at->order, at->lane, 1).first;
	at->number = 1;
}

/* A single sample is a block. */
static int seek_single(const struct sfs_locator *map, uint32_t lane, uint64_t number,
		       struct sfs_lane *ret_lane, struct sfs_block *ret_block,
		       uint32_t *ret_shard)
{
	struct sfs_lane at = {.order = map->order,
			      .lane = lane,
			      .m = (uint32_t)number,
			      .number = number};
	int ret;

	at.index = sfs_order_slice(map->order, lane, at.m).first;
	sfs_block_clear(ret_block);
	ret = sfs_lane_form(&at, &map->tables, ret_block, ret_shard);
	if (ret == 0)
		*ret_lane = at;
	return ret;
}

int sfs_locator_seek(struct sfs_locator *map, uint32_t lane, uint64_t number,
		     struct sfs_lane *ret_lane, struct sfs_block *ret_block,
		     uint32_t *ret_shard)
{
	const struct sfs_locator_lane *ml = &map->lanes[lane];
	const struct sfs_slice *slice;
	const struct sfs_sample_table *table;
	struct sfs_lane at;
	uint64_t place, index;
	uint32_t m;
	size_t i;
	int ret;

	if (number >= ml->n_known && is_complete(ml))
		return -ENODATA;
	if (sfs_order_is_single(map->order))
		return seek_single(map, lane, number, ret_lane, ret_block, ret_shard);
	m = find_slice(map, lane, map->n_before, number);
	i = slice_of(map, lane, m);
	slice = &map->order->slices[i];
	*ret_shard = slice->shard;
	table = table_of(map, lane, m);
	index = slice->first + (number - map->n_before[i]);
	if (!table || index >= sfs_sample_table_n(table))
		return -EAGAIN;
	place = place_of(map, i, table, index);
	place = sfs_order_piece_start(map->order, sfs_order_piece(map->order, place));

	sfs_lane_init(&at, map->order, lane);
	if (sfs_order_is_alone(map->order, lane, m)) {
		at.m = m;
		at.index = index;
		at.number = number;
	} else {
		ret = find_place(map, lane, place, &at, ret_shard);
		if (ret < 0)
			return ret;
		leave_first(&at);
	}
	i = slice_of(map, lane, at.m);
	at.base = sfs_order_is_dealt(map->order) ? map->order->bases[i]
						 : map->bytes_before[i];
	sfs_lane_set_ends(&at, table_of(map, lane, at.m));
	sfs_block_clear(ret_block);
	ret = sfs_lane_form(&at, &map->tables, ret_block, ret_shard);
	if (ret < 0)
		return ret;
	*ret_lane = at;
	return 0;
}

/* Make ml->block the block of the lane that holds its sample `number`. */
static int load_block(struct sfs_locator *map, uint32_t lane, uint64_t number,
		      uint32_t *ret_shard)
{
	struct sfs_locator_lane *ml = &map->lanes[lane];
	const struct sfs_block_sample *first;
	const struct sfs_sample_table *table;
	int ret;

	if (ml->has_block && number >= ml->block.first &&
	    number < ml->block.first + ml->block.n)
		return 0;
	ml->has_block = false;
	ret = sfs_locator_seek(map, lane, number, &ml->lane, &ml->block, ret_shard);
	if (ret < 0)
		return ret;
	ml->has_block = sfs_order_is_single(map->order);
	if (ml->has_block)
		return 0;
	first = &ml->block.samples[0];
	table = table_of(map, lane, first->m);
	*ret_shard = first->shard;
	if (!table)
		return -EAGAIN;
	ml->block_bytes =
		bytes_to(map, slice_of(map, lane, first->m), table, first->index);
	ml->has_block = true;
	return 0;
}

/* The bytes of the lane that come before its sample `number`. */
static int lane_bytes(struct sfs_locator *map, uint32_t lane, uint64_t number,
		      uint64_t *ret_bytes, uint32_t *ret_shard)
{
	struct sfs_locator_lane *ml = &map->lanes[lane];
	uint64_t t;
	int ret;

	if (number >= ml->n_known && is_complete(ml)) {
		*ret_bytes = ml->bytes_known;
		return 0;
	}
	if (number == 0) {
		*ret_bytes = 0;
		return 0;
	}
	/* After the last certain block, there is none to load. */
	ret = load_block(map, lane, number == ml->n_certain ? number - 1 : number,
			 ret_shard);
	if (ret < 0)
		return ret;
	*ret_bytes = ml->block_bytes;
	for (t = 0; t < number - ml->block.first; t++)
		*ret_bytes += sfs_block_at(&ml->block, t)->n_bytes;
	return 0;
}

/* ---- times ---- */

/* How many leading samples of a slice have a V (v_in_slice()) of less than v.  V is at
 * most three times the sample's start, and at least that of the third sample before. */
static uint64_t find_v(const struct sfs_sample_table *table, uint64_t v)
{
	uint64_t n = sfs_sample_table_n(table);
	uint64_t i = sfs_sample_table_from(table, n, (v + 2) / 3);

	while (i < n && v_in_slice(table, i) < v)
		i++;
	return i;
}

/* How many of the lane's samples come before a time, which is not after the edge. */
static int count_before(const struct sfs_locator *map, uint32_t lane, uint64_t time,
			uint64_t *ret_n, uint32_t *ret_shard)
{
	const struct sfs_locator_lane *ml = &map->lanes[lane];
	const struct sfs_sample_table *table;
	uint64_t v;
	uint32_t m;
	size_t i;

	if (!sfs_order_is_dealt(map->order) || (is_complete(ml) && time >= SFS_TIMES)) {
		*ret_n = lower(time, ml->n_known);
		return 0;
	}
	v = sfs_order_v_at(map->order, lane, lower(time, SFS_TIMES));
	*ret_n = 0;
	if (v == 0)
		return 0;
	m = find_slice(map, lane, map->order->bases, (v - 1) / 3);
	i = slice_of(map, lane, m);
	v -= 3 * map->order->bases[i];
	*ret_n = map->n_before[i];
	if (*ret_n == n_to_end(map, lane, m))
		return 0;
	table = table_of(map, lane, m);
	*ret_shard = map->order->slices[i].shard;
	if (!table)
		return -EAGAIN;
	*ret_n += find_v(table, v);
	return 0;
}

int sfs_locator_count(struct sfs_locator *map, uint32_t lane, uint64_t time,
		      uint64_t *ret_n, uint32_t *ret_shard)
{
	return count_before(map, lane, time, ret_n, ret_shard);
}

/* What comes before a time in all lanes: samples, or else bytes.  A lane of which as much
 * is too early as too late needs no look. */
static int try_time(struct sfs_locator *map, uint64_t time, bool by_number,
		    uint64_t *ret_sum, uint32_t *ret_shard)
{
	struct sfs_locator_lane *ml;
	uint32_t l;
	int ret = 0;

	*ret_sum = 0;
	for (l = 0; l < map->order->n_lanes && ret == 0; l++) {
		ml = &map->lanes[l];
		ml->tried = ml->early;
		if (ml->early.n < ml->late.n)
			ret = count_before(map, l, time, &ml->tried.n, ret_shard);
		if (ret == 0 && !by_number && ml->tried.n != ml->early.n)
			ret = lane_bytes(map, l, ml->tried.n, &ml->tried.bytes,
					 ret_shard);
		*ret_sum += by_number ? ml->tried.n : ml->tried.bytes;
	}
	return ret;
}

/* Where a search between two times should look next, if a straight line between them goes
 * through the mark at `part` of the way.  As lanes have about the same pace on average,
 * it nearly does: look a little before, then a little after.  Every third time look in
 * the middle, so that the search ends soon whatever the line is. */
static uint64_t guess(uint64_t low, uint64_t high, double part, uint32_t n_tries)
{
	double margin = n_tries % 3 == 0 ? -1.0 / 64 : 1.0 / 64;
	uint64_t step = (high - low) / 2;

	part += margin;
	if (n_tries % 3 < 2 && part > 0 && part < 1)
		step = (uint64_t)(part * (double)(high - low));
	step += step == 0;
	return low + (step < high - low ? step : high - low - 1);
}

/* Find the last time, up to `last`, before which at most `most` samples or bytes come.
 * What comes before it is then what is early in each lane. */
static int search(struct sfs_locator *map, uint64_t last, uint64_t most, bool by_number,
		  uint64_t *ret_time, uint32_t *ret_shard)
{
	uint64_t low = 0, high = last + 1, time = last, low_sum = 0, high_sum = 0, sum;
	uint32_t l, n_tries = 0;
	int ret;

	for (l = 0; l < map->order->n_lanes; l++) {
		map->lanes[l].early = (struct leading){0};
		map->lanes[l].late.n = UINT64_MAX;
	}
	while (low + 1 < high) {
		ret = try_time(map, time, by_number, &sum, ret_shard);
		if (ret < 0)
			return ret;
		for (l = 0; l < map->order->n_lanes; l++)
			if (sum <= most)
				map->lanes[l].early = map->lanes[l].tried;
			else
				map->lanes[l].late = map->lanes[l].tried;
		if (sum <= most) {
			low = time;
			low_sum = sum;
		} else {
			high = time;
			high_sum = sum;
		}
		time = guess(low, high,
			     (double)(most - low_sum) / (double)(high_sum - low_sum),
			     n_tries++);
	}
	*ret_time = low;
	return 0;
}

/* The time by which all samples that are certain have left. */
static uint64_t last_time(const struct sfs_locator *map)
{
	uint64_t last = 0;
	uint32_t l;

	if (map->edge_time != SFS_NEVER)
		return map->edge_time;
	if (sfs_order_is_dealt(map->order))
		return SFS_TIMES;
	for (l = 0; l < map->order->n_lanes; l++)
		if (map->lanes[l].n_known > last)
			last = map->lanes[l].n_known;
	return last;
}

/* The number of the lane's first sample after a time; of those that are certain. */
static int count_to(const struct sfs_locator *map, uint32_t lane, uint64_t time,
		    uint64_t *ret_n, uint32_t *ret_shard)
{
	int ret = count_before(map, lane, time + 1, ret_n, ret_shard);

	if (ret == 0)
		*ret_n = lower(*ret_n, certain(&map->lanes[lane]));
	return ret;
}

/* After a search: go through the samples of its time, lane after lane, up to the one that
 * holds byte `offset`, or past `n_skipped` of them.  `spot` has the time, and the offset
 * of the first. */
static int walk(struct sfs_locator *map, struct sfs_spot *spot, uint64_t offset,
		uint64_t n_skipped, uint32_t *ret_shard)
{
	const struct sfs_block_sample *s = NULL;
	uint64_t end;
	int ret;

	for (spot->lane = 0; spot->lane < map->order->n_lanes; spot->lane++) {
		ret = count_to(map, spot->lane, spot->time, &end, ret_shard);
		if (ret < 0)
			return ret;
		spot->number = map->lanes[spot->lane].early.n;
		for (; spot->number < end; spot->number++, n_skipped--) {
			ret = sfs_locator_sample(map, spot, &s, ret_shard);
			if (ret < 0)
				return ret;
			if (n_skipped == 0 || offset < spot->offset + s->n_bytes)
				return 0;
			spot->offset += s->n_bytes;
		}
		if (spot->time == map->edge_time && spot->lane == map->edge_lane)
			return at_edge(map, ret_shard);
	}
	*spot = (struct sfs_spot){.time = SFS_NEVER,
				  .offset = spot->offset,
				  .is_end = true};
	return 0;
}

/* ---- single samples ---- */

static void have_sums(struct sfs_locator *map)
{
	if (!map->sums.before)
		sfs_sums_init(&map->sums, map->order, &map->tables);
}

/* Where sample k of the part is, which begins at `offset`. */
static struct sfs_spot spot_of(const struct sfs_locator *map, uint64_t k, uint64_t offset)
{
	uint64_t round = k / map->order->n_lanes;

	if (k == map->order->n_samples)
		return (struct sfs_spot){.time = SFS_NEVER,
					 .offset = offset,
					 .is_end = true};
	return (struct sfs_spot){.time = round,
				 .lane = (uint32_t)(k % map->order->n_lanes),
				 .number = round,
				 .offset = offset};
}

static struct sfs_spot find_single(struct sfs_locator *map, uint64_t offset)
{
	uint64_t start, k;

	have_sums(map);
	k = sfs_sums_find(&map->sums, offset, &start);
	return spot_of(map, k, start);
}

static struct sfs_spot nth_single(struct sfs_locator *map, uint64_t number)
{
	uint64_t k = lower(number, map->order->n_samples);

	if (k == 0)
		return spot_of(map, 0, 0);
	if (k == map->order->n_samples && map->order->n_bytes > 0)
		return spot_of(map, k, map->order->n_bytes);
	have_sums(map);
	return spot_of(map, k, sfs_sums_before(&map->sums, k));
}

/* ---- spots ---- */

int sfs_locator_sample(struct sfs_locator *map, const struct sfs_spot *spot,
		       const struct sfs_block_sample **ret_sample, uint32_t *ret_shard)
{
	struct sfs_locator_lane *ml = &map->lanes[spot->lane];
	int ret = load_block(map, spot->lane, spot->number, ret_shard);

	if (ret == 0)
		*ret_sample = sfs_block_at(&ml->block, spot->number - ml->block.first);
	return ret;
}

int sfs_locator_find(struct sfs_locator *map, uint64_t offset, struct sfs_spot *ret_spot,
		     uint32_t *ret_shard)
{
	struct sfs_spot spot = {0};
	uint32_t l;
	int ret;

	if (sfs_order_is_single(map->order)) {
		*ret_spot = find_single(map, offset);
		return 0;
	}
	ret = update(map, ret_shard);
	if (ret == 0)
		ret = search(map, last_time(map), offset, false, &spot.time, ret_shard);
	if (ret < 0)
		return ret;
	for (l = 0; l < map->order->n_lanes; l++)
		spot.offset += map->lanes[l].early.bytes;
	ret = walk(map, &spot, offset, UINT64_MAX, ret_shard);
	if (ret == 0)
		*ret_spot = spot;
	return ret;
}

int sfs_locator_nth(struct sfs_locator *map, uint64_t number, struct sfs_spot *ret_spot,
		    uint32_t *ret_shard)
{
	struct sfs_spot spot = {0};
	uint64_t bytes;
	uint32_t l;
	int ret;

	if (sfs_order_is_single(map->order)) {
		*ret_spot = nth_single(map, number);
		return 0;
	}
	ret = update(map, ret_shard);
	if (ret == 0 && map->edge_time != SFS_NEVER)
		ret = at_edge(map, ret_shard);
	if (ret == 0)
		ret = search(map, last_time(map), number, true, &spot.time, ret_shard);
	for (l = 0; l < map->order->n_lanes && ret == 0; l++) {
		number -= map->lanes[l].early.n;
		ret = lane_bytes(map, l, map->lanes[l].early.n, &bytes, ret_shard);
		spot.offset += bytes;
	}
	if (ret == 0)
		ret = walk(map, &spot, UINT64_MAX, number, ret_shard);
	if (ret == 0)
		*ret_spot = spot;
	return ret;
}

/* ---- steps ---- */

/* Put all lanes where they are at a spot. */
static int go_to(struct sfs_locator *map, const struct sfs_spot *spot,
		 uint32_t *ret_shard)
{
	uint32_t l;
	int ret = 0;

	if (map->is_at && spot->time == map->at.time && spot->lane == map->at.lane &&
	    spot->number == map->at.number)
		return 0;
	map->is_at = map->has_merge = false;
	for (l = 0; l < map->order->n_lanes && ret == 0; l++) {
		if (spot->is_end)
			map->lanes[l].number = map->lanes[l].n_known;
		else if (l == spot->lane)
			map->lanes[l].number = spot->number;
		else
			ret = count_to(map, l, spot->time - (l > spot->lane),
				       &map->lanes[l].number, ret_shard);
	}
	map->at = *spot;
	map->is_at = ret == 0;
	return ret;
}

/* When the lane's next sample is due, or may be.  SFS_NEVER: there is none. */
static int next_time(const struct sfs_locator *map, uint32_t lane, uint64_t *ret_time,
		     uint32_t *ret_shard)
{
	const struct sfs_locator_lane *ml = &map->lanes[lane];

	if (ml->number < certain(ml))
		return time_of(map, lane, ml->number, ret_time, ret_shard);
	*ret_time = is_complete(ml) ? SFS_NEVER : ml->edge_time;
	return 0;
}

static int have_merge(struct sfs_locator *map, uint32_t *ret_shard)
{
	uint64_t time = SFS_NEVER;
	uint32_t l;
	int ret;

	if (map->has_merge)
		return 0;
	map->merge.n = 0;
	for (l = 0; l < map->order->n_lanes; l++) {
		ret = next_time(map, l, &time, ret_shard);
		if (ret < 0)
			return ret;
		if (time != SFS_NEVER)
			sfs_merge_add(&map->merge, l, time);
	}
	map->has_merge = true;
	return 0;
}

/* Move from the spot to the next sample, or to where one may be that is not certain. */
static int step(struct sfs_locator *map, struct sfs_spot *spot, uint32_t *ret_shard)
{
	uint64_t time, offset = spot->offset;
	uint32_t lane = spot->lane;
	int ret;

	ret = go_to(map, spot, ret_shard);
	if (ret == 0)
		ret = have_merge(map, ret_shard);
	if (ret < 0)
		return ret;
	map->is_at = false;
	map->lanes[lane].number++;
	ret = next_time(map, lane, &time, ret_shard);
	if (ret < 0)
		return ret;
	sfs_merge_set(&map->merge, time);
	*spot = (struct sfs_spot){.time = SFS_NEVER,
				  .offset = offset,
				  .is_end = map->merge.n == 0};
	if (map->merge.n > 0) {
		spot->time = sfs_merge_time(&map->merge);
		spot->lane = sfs_merge_lane(&map->merge);
		spot->number = map->lanes[spot->lane].number;
	}
	map->at = *spot;
	map->is_at = true;
	return 0;
}

int sfs_locator_next(struct sfs_locator *map, struct sfs_spot *spot, uint32_t *ret_shard)
{
	const struct sfs_block_sample *s;
	struct sfs_spot from = *spot, to;
	int ret;

	ret = sfs_locator_sample(map, spot, &s, ret_shard);
	if (ret < 0)
		return ret;
	from.offset += s->n_bytes;
	to = from;
	ret = step(map, &to, ret_shard);
	if (ret == 0 && !to.is_end && is_past_edge(map, &to)) {
		ret = update(map, ret_shard); /* more may be certain now */
		to = from;
		if (ret == 0)
			ret = step(map, &to, ret_shard);
		if (ret == 0 && !to.is_end && is_past_edge(map, &to))
			return at_edge(map, ret_shard);
	}
	if (ret == 0)
		*spot = to;
	return ret;
}

int sfs_locator_previous(struct sfs_locator *map, struct sfs_spot *spot,
			 uint32_t *ret_shard)
{
	struct sfs_spot to = {.lane = SFS_NO_LANE};
	uint64_t time;
	uint32_t l;
	int ret;

	ret = go_to(map, spot, ret_shard);
	for (l = 0; l < map->order->n_lanes && ret == 0; l++) {
		if (map->lanes[l].number == 0)
			continue;
		ret = time_of(map, l, map->lanes[l].number - 1, &time, ret_shard);
		if (ret == 0 && time >= to.time)
			to = (struct sfs_spot){.time = time, .lane = l};
	}
	if (ret < 0)
		return ret;
	if (to.lane == SFS_NO_LANE)
		return -ENOENT;
	to.number = --map->lanes[to.lane].number;
	map->at = *spot = to;
	map->has_merge = false;
	return 0;
}

/* ---- numbers ---- */

int sfs_locator_number(struct sfs_locator *map, const struct sfs_spot *spot,
		       uint64_t *ret_number, uint32_t *ret_shard)
{
	int ret = go_to(map, spot, ret_shard);
	uint64_t n = 0;
	uint32_t l;

	for (l = 0; l < map->order->n_lanes; l++)
		n += map->lanes[l].number;
	if (ret == 0)
		*ret_number = n;
	return ret;
}

int sfs_locator_lane_number(struct sfs_locator *map, const struct sfs_spot *spot,
			    uint32_t lane, uint64_t *ret_number, uint32_t *ret_shard)
{
	int ret = go_to(map, spot, ret_shard);

	if (ret == 0)
		*ret_number = map->lanes[lane].number;
	return ret;
}
