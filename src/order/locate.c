/* SPDX-License-Identifier: MIT */
/* How this works: a lane is known up to the end of its leading whole slices, and the part
 * of the next one that its table has so far.  Only pieces that are known to their end can
 * be shuffled, so a lane has K leading samples whose order is certain; the epoch is
 * certain up to the first sample (j, l) with j = K of its lane.  The bytes before round j
 * are the sum over all lanes of the bytes before the lane's sample j: a prefix sum plus a
 * part of one block. */
#include "order/locate.h"

#include "base/alloc.h"

#include <errno.h>

struct sfs_locator_lane {
	uint32_t n_slices, n_whole; /* of its slices, and the leading whole ones */
	uint64_t n_known,
		bytes_known; /* samples and bytes, the part of the next included */
	uint64_t n_certain;  /* K */
	bool is_damaged;     /* the next slice is damaged, not unknown */

	/* The block that was used last. */
	struct sfs_lane lane;
	struct sfs_block block;
	uint64_t place; /* of the block's first sample */
	bool has_block;
};

/* The index of a lane's slice m among all slices. */
static size_t slice_of(const struct sfs_locator *map, uint32_t lane, uint32_t m)
{
	return (size_t)map->order->lane_start[lane] + m;
}

static const struct sfs_sample_table *table_of(const struct sfs_locator *map,
					       uint32_t lane, uint32_t m)
{
	return map->tables.get(map->tables.ctx,
			       sfs_order_slice(map->order, lane, m)->shard);
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

void sfs_locator_init(struct sfs_locator *map, const struct sfs_order *order,
		      const struct sfs_sample_tables *tables,
		      bool (*totals)(void *, uint32_t, uint64_t *, uint64_t *))
{
	uint32_t l;

	*map = (struct sfs_locator){.order = order, .tables = *tables, .totals = totals};
	map->n_before = sfs_calloc(sfs_order_slices(order), sizeof *map->n_before);
	map->bytes_before =
		sfs_calloc(sfs_order_slices(order), sizeof *map->bytes_before);
	map->lanes = sfs_calloc(order->n_lanes, sizeof *map->lanes);
	for (l = 0; l < order->n_lanes; l++)
		map->lanes[l].n_slices = sfs_order_lane_slices(order, l);
}

void sfs_locator_done(struct sfs_locator *map)
{
	uint32_t l;

	for (l = 0; map->lanes && l < map->order->n_lanes; l++)
		sfs_block_done(&map->lanes[l].block);
	free(map->n_before);
	free(map->bytes_before);
	free(map->lanes);
	*map = (struct sfs_locator){0};
}

uint64_t sfs_locator_memory(const struct sfs_order *order)
{
	return 2 * sfs_order_slices(order) * sizeof(uint64_t) +
	       order->n_lanes * sizeof(struct sfs_locator_lane);
}

/* ---- what is known ---- */

static bool is_complete(const struct sfs_locator_lane *ml)
{
	return ml->n_whole == ml->n_slices;
}

/* Which of the lane's known slices is the last that begins at or before `at`, as one of
 * the sums counts (n_before or bytes_before)? */
static uint32_t find_slice(const struct sfs_locator *map, uint32_t lane,
			   const uint64_t *sums, uint64_t at)
{
	const struct sfs_locator_lane *ml = &map->lanes[lane];
	uint32_t low = 0, high = ml->n_whole, middle;

	if (is_complete(ml) && high > 0)
		high--;
	while (low < high) {
		middle = high - (high - low) / 2;
		if (sums[slice_of(map, lane, middle)] <= at)
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
	const uint32_t m = find_slice(map, lane, map->bytes_before, place);
	const size_t i = slice_of(map, lane, m);
	const struct sfs_slice *slice = &map->order->slices[i];
	const struct sfs_sample_table *table = table_of(map, lane, m);

	*ret_shard = slice->shard;
	if (!table)
		return -EAGAIN;
	ret_at->m = m;
	ret_at->index =
		sfs_sample_table_find(table,
				      sfs_slice_end(slice, sfs_sample_table_n(table)),
				      place - map->bytes_before[i] +
					      sfs_sample_table_place(table,
								     slice->first));
	ret_at->number = map->n_before[i] + ret_at->index - slice->first;
	return 0;
}

/* The last of the lane's slices is known. */
static void complete(struct sfs_locator *map, uint32_t lane, uint64_t n, uint64_t bytes)
{
	struct sfs_locator_lane *ml = &map->lanes[lane];

	ml->n_whole = ml->n_slices;
	ml->n_known = n;
	ml->bytes_known = bytes;
	if (lane == map->order->shortened) {
		ml->n_known--;
		ml->bytes_known -= map->order->n_dropped_bytes;
	}
	ml->n_certain = ml->n_known;
}

/* Take account of tables that have grown.  -EAGAIN: one is not in memory. */
static int update_lane(struct sfs_locator *map, uint32_t lane, uint32_t *ret_shard)
{
	struct sfs_locator_lane *ml = &map->lanes[lane];
	const struct sfs_sample_table *table;
	uint64_t n, bytes;
	struct sfs_lane at;
	size_t i;
	int ret;

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
	table = table_of(map, lane, ml->n_whole);
	ml->is_damaged =
		table && sfs_sample_table_state(table) == SFS_SAMPLE_TABLE_DAMAGED;
	n = table ? sfs_sample_table_n(table) : 0;
	ml->n_known = map->n_before[i] + n;
	ml->bytes_known =
		map->bytes_before[i] + (table ? sfs_sample_table_place(table, n) : 0);
	ml->n_certain = 0;
	if (ml->n_known == 0)
		return 0;
	bytes = sfs_order_piece_start(map->order,
				      sfs_order_piece(map->order, ml->bytes_known));
	if (bytes >= map->bytes_before[i] && !table) {
		ml->n_certain = map->n_before[i];
		return 0;
	}
	ret = find_place(map, lane, bytes, &at, ret_shard);
	if (ret == 0)
		ml->n_certain = at.number;
	return ret;
}

/* Find the first sample whose order is not certain: its round and its lane. */
static int update(struct sfs_locator *map, uint32_t *ret_shard)
{
	struct sfs_spot *edge = &map->edge;
	struct sfs_locator_lane *ml;
	uint32_t l;
	int ret;

	*edge = (struct sfs_spot){.round = UINT64_MAX};
	for (l = 0; l < map->order->n_lanes; l++) {
		ret = update_lane(map, l, ret_shard);
		if (ret < 0)
			return ret;
		ml = &map->lanes[l];
		if (!is_complete(ml) && ml->n_certain < edge->round) {
			edge->round = ml->n_certain;
			edge->lane = l;
		}
	}
	return 0;
}

/* ---- blocks ---- */

/* The place in its lane of a sample of slice i. */
static uint64_t place_of(const struct sfs_locator *map, size_t i,
			 const struct sfs_sample_table *table, uint64_t index)
{
	return map->bytes_before[i] + sfs_sample_table_place(table, index) -
	       sfs_sample_table_place(table, map->order->slices[i].first);
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
	if (sfs_order_is_repeat(map->order, lane, m)) {
		at.m = m;
		at.index = index;
		at.number = number;
	} else {
		ret = find_place(map, lane, place, &at, ret_shard);
		if (ret < 0)
			return ret;
	}
	at.base = map->bytes_before[slice_of(map, lane, at.m)];
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
	first = &ml->block.samples[0];
	table = table_of(map, lane, first->m);
	if (!table)
		return -EAGAIN;
	ml->place = place_of(map, slice_of(map, lane, first->m), table, first->index);
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
	if (number == ml->n_certain) { /* after the last certain block */
		ret = load_block(map, lane, number - 1, ret_shard);
		if (ret < 0)
			return ret;
	} else {
		ret = load_block(map, lane, number, ret_shard);
		if (ret < 0)
			return ret;
	}
	*ret_bytes = ml->place;
	for (t = 0; t < number - ml->block.first; t++)
		*ret_bytes += sfs_block_at(&ml->block, t)->n_bytes;
	return 0;
}

static int round_bytes(struct sfs_locator *map, uint64_t round, uint64_t *ret_bytes,
		       uint32_t *ret_shard)
{
	uint64_t bytes;
	uint32_t l;
	int ret;

	*ret_bytes = 0;
	for (l = 0; l < map->order->n_lanes; l++) {
		ret = lane_bytes(map, l, round, &bytes, ret_shard);
		if (ret < 0)
			return ret;
		*ret_bytes += bytes;
	}
	return 0;
}

/* ---- spots ---- */

int sfs_locator_sample(struct sfs_locator *map, const struct sfs_spot *spot,
		       const struct sfs_block_sample **ret_sample, uint32_t *ret_shard)
{
	struct sfs_locator_lane *ml = &map->lanes[spot->lane];
	int ret = load_block(map, spot->lane, spot->round, ret_shard);

	if (ret == 0)
		*ret_sample = sfs_block_at(&ml->block, spot->round - ml->block.first);
	return ret;
}

static bool has_ended(const struct sfs_locator *map, uint32_t lane, uint64_t round)
{
	return is_complete(&map->lanes[lane]) && round >= map->lanes[lane].n_known;
}

/* Move from `spot` (which may name a lane that has ended) to the first sample at or after
 * it. */
static void settle(const struct sfs_locator *map, struct sfs_spot *spot)
{
	uint32_t n_ended = 0;

	while (n_ended < map->order->n_lanes) {
		if (spot->lane == map->order->n_lanes) {
			spot->lane = 0;
			spot->round++;
		}
		if (!has_ended(map, spot->lane, spot->round))
			return;
		spot->lane++;
		n_ended++;
	}
	spot->is_end = true;
}

static int at_edge(const struct sfs_locator *map, uint32_t *ret_shard)
{
	const struct sfs_locator_lane *ml = &map->lanes[map->edge.lane];

	*ret_shard = sfs_order_slice(map->order, map->edge.lane, ml->n_whole)->shard;
	return ml->is_damaged ? -EBADMSG : -EAGAIN;
}

static bool is_past_edge(const struct sfs_locator *map, const struct sfs_spot *spot)
{
	return spot->round > map->edge.round ||
	       (spot->round == map->edge.round && spot->lane >= map->edge.lane);
}

int sfs_locator_next(struct sfs_locator *map, struct sfs_spot *spot, uint32_t *ret_shard)
{
	const struct sfs_block_sample *s;
	struct sfs_spot to = *spot;
	int ret;

	ret = sfs_locator_sample(map, spot, &s, ret_shard);
	if (ret < 0)
		return ret;
	to.offset += s->n_bytes;
	to.lane++;
	settle(map, &to);
	if (!to.is_end && is_past_edge(map, &to)) {
		ret = update(map, ret_shard);
		if (ret < 0)
			return ret;
		settle(map, &to); /* the end of a lane may be known now */
		if (!to.is_end && is_past_edge(map, &to))
			return at_edge(map, ret_shard);
	}
	*spot = to;
	return 0;
}

bool sfs_locator_previous(struct sfs_locator *map, struct sfs_spot *spot)
{
	struct sfs_spot to = {.round = spot->round, .lane = spot->lane};

	for (;;) {
		if (to.lane == 0) {
			if (to.round == 0)
				return false;
			to.round--;
			to.lane = map->order->n_lanes;
		}
		to.lane--;
		if (!has_ended(map, to.lane, to.round))
			break;
	}
	*spot = to;
	return true;
}

/* Search one round from its start at `spot` for the sample that holds the byte, up to the
 * edge. */
static int find_in_round(struct sfs_locator *map, uint64_t offset, struct sfs_spot *spot,
			 uint32_t *ret_shard)
{
	const struct sfs_block_sample *s;
	int ret;

	settle(map, spot);
	while (!spot->is_end) {
		if (is_past_edge(map, spot))
			return at_edge(map, ret_shard);
		ret = sfs_locator_sample(map, spot, &s, ret_shard);
		if (ret < 0)
			return ret;
		if (offset < spot->offset + s->n_bytes)
			return 0;
		spot->offset += s->n_bytes;
		spot->lane++;
		settle(map, spot);
	}
	return 0;
}

/* The number of rounds, if all lanes are complete. */
static uint64_t count_rounds(const struct sfs_locator *map)
{
	uint64_t rounds = 0;
	uint32_t l;

	for (l = 0; l < map->order->n_lanes; l++)
		if (map->lanes[l].n_known > rounds)
			rounds = map->lanes[l].n_known;
	return rounds;
}

int sfs_locator_find(struct sfs_locator *map, uint64_t offset, struct sfs_spot *ret_spot,
		     uint32_t *ret_shard)
{
	struct sfs_spot spot = {0};
	uint64_t low = 0, high, middle, bytes;
	int ret;

	ret = update(map, ret_shard);
	if (ret < 0)
		return ret;
	high = map->edge.round == UINT64_MAX ? count_rounds(map) : map->edge.round;
	while (low < high) { /* the last round that begins at or before the byte */
		middle = high - (high - low) / 2;
		ret = round_bytes(map, middle, &bytes, ret_shard);
		if (ret < 0)
			return ret;
		if (bytes <= offset)
			low = middle;
		else
			high = middle - 1;
	}
	spot.round = low;
	ret = round_bytes(map, low, &spot.offset, ret_shard);
	if (ret == 0)
		ret = find_in_round(map, offset, &spot, ret_shard);
	if (ret == 0)
		*ret_spot = spot;
	return ret;
}

/* ---- numbers ---- */

static uint64_t lower(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* How many samples come before a round, which is no later than the edge. */
static uint64_t count_to_round(const struct sfs_locator *map, uint64_t round)
{
	uint64_t n = 0;
	uint32_t l;

	for (l = 0; l < map->order->n_lanes; l++)
		n += lower(map->lanes[l].n_known, round);
	return n;
}

uint64_t sfs_locator_number(const struct sfs_locator *map, const struct sfs_spot *spot)
{
	uint64_t n = count_to_round(map, spot->round);
	uint32_t l;

	for (l = 0; l < spot->lane; l++)
		n += map->lanes[l].n_known > spot->round;
	return n;
}

int sfs_locator_nth(struct sfs_locator *map, uint64_t number, struct sfs_spot *ret_spot,
		    uint32_t *ret_shard)
{
	const struct sfs_block_sample *s;
	struct sfs_spot spot = {0};
	uint64_t low = 0, high, middle, left;
	int ret;

	ret = update(map, ret_shard);
	if (ret < 0)
		return ret;
	if (map->edge.round != UINT64_MAX)
		return at_edge(map, ret_shard);
	high = count_rounds(map);
	while (low < high) { /* the last round that begins at or before the sample */
		middle = high - (high - low) / 2;
		if (count_to_round(map, middle) <= number)
			low = middle;
		else
			high = middle - 1;
	}
	spot.round = low;
	left = number - count_to_round(map, low);
	ret = round_bytes(map, low, &spot.offset, ret_shard);
	settle(map, &spot);
	for (; ret == 0 && left > 0 && !spot.is_end; left--) {
		ret = sfs_locator_sample(map, &spot, &s, ret_shard);
		if (ret < 0)
			break;
		spot.offset += s->n_bytes;
		spot.lane++;
		settle(map, &spot);
	}
	if (ret == 0)
		*ret_spot = spot;
	return ret;
}
