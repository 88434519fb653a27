/* SPDX-License-Identifier: MIT */
/* How this works: locate-known has what is known of the lanes, and the edge up to which
 * the epoch is certain.
 *
 * A lane's times rise with its samples, as they lie and as they leave.  So how many of
 * them come before a time is a search over its slices, and then in one table; their bytes
 * are a prefix sum and a part of one block.  The sum over all lanes is what a search over
 * time goes by.
 *
 * Single samples need no search over times, and no sums of lanes (locate-single).
 */
#include "order/locate.h"

#include "base/alloc.h"

#include <errno.h>

/* Samples of a lane that come first, and their bytes. */
struct leading {
	uint64_t n, bytes;
};

struct sfs_locator_lane {
	/* A search: what comes before times that are too early, tried, and too late. */
	struct leading early, tried, late;
	uint64_t number; /* its samples before map->at */

	/* The block that was used last. */
	struct sfs_lane lane;
	struct sfs_block block;
	uint64_t block_bytes; /* of the lane's samples before the block */
	bool has_block;
};

void sfs_locator_init(struct sfs_locator *map, const struct sfs_order *order,
		      const struct sfs_sample_tables *tables,
		      bool (*totals)(void *, uint32_t, uint64_t *, uint64_t *))
{
	*map = (struct sfs_locator){.order = order,
				    .is_single = sfs_order_is_single(order),
				    .single = {.order = order, .tables = *tables}};
	sfs_known_init(&map->known, order, tables, totals);
	map->lanes = sfs_calloc(order->n_lanes, sizeof *map->lanes);
	sfs_merge_init(&map->merge, order->n_lanes);
}

void sfs_locator_done(struct sfs_locator *map)
{
	uint32_t l;

	for (l = 0; map->lanes && l < map->order->n_lanes; l++)
		sfs_block_done(&map->lanes[l].block);
	sfs_merge_done(&map->merge);
	sfs_known_done(&map->known);
	sfs_single_locator_done(&map->single);
	free(map->lanes);
	*map = (struct sfs_locator){0};
}

uint64_t sfs_locator_memory(const struct sfs_order *order)
{
	uint64_t n = sfs_order_is_single(order)
			     ? sfs_sums_memory(order)
			     : 2 * sfs_order_slices(order) * sizeof(uint64_t);

	return n + order->n_lanes *
			   (sizeof(struct sfs_locator_lane) +
			    sizeof(struct sfs_known_lane) + sizeof(uint64_t));
}

/* Take account of tables that have grown. */
static int update(struct sfs_locator *map, uint32_t *ret_shard)
{
	map->has_merge = false;
	return sfs_known_update(&map->known, ret_shard);
}

/* ---- blocks ---- */

/* A block that is not the lane's first sample begins behind it. */
static void leave_first(struct sfs_lane *at)
{
	if (at->m > 0 || !sfs_order_is_alone(at->order, at->lane, 0))
		return;
	at->m = 1;
	at->index = sfs_order_slice(at->order, at->lane, 1).first;
	at->number = 1;
}

int sfs_locator_seek(struct sfs_locator *map, uint32_t lane, uint64_t number,
		     struct sfs_lane *ret_lane, struct sfs_block *ret_block,
		     uint32_t *ret_shard)
{
	const struct sfs_known *k = &map->known;
	const struct sfs_slice *slice;
	const struct sfs_sample_table *table;
	struct sfs_lane at;
	uint64_t place, index;
	uint32_t m;
	size_t i;
	int ret;

	if (number >= k->lanes[lane].n && sfs_known_is_complete(k, lane))
		return -ENODATA;
	if (map->is_single)
		return sfs_single_locator_seek(&map->single, lane, number, ret_lane,
					       ret_block, ret_shard);
	m = sfs_known_find_slice(k, lane, k->n_before, number);
	i = sfs_known_slice(k, lane, m);
	slice = &map->order->slices[i];
	*ret_shard = slice->shard;
	table = sfs_known_table(k, lane, m);
	index = slice->first + (number - k->n_before[i]);
	if (!table || index >= sfs_sample_table_n(table))
		return -EAGAIN;
	place = sfs_known_place(k, i, table, index);
	place = sfs_order_piece_start(map->order, sfs_order_piece(map->order, place));

	sfs_lane_init(&at, map->order, lane);
	if (sfs_order_is_alone(map->order, lane, m)) {
		at.m = m;
		at.index = index;
		at.number = number;
	} else {
		ret = sfs_known_find_place(k, lane, place, &at, ret_shard);
		if (ret < 0)
			return ret;
		leave_first(&at);
	}
	at.base = k->places[sfs_known_slice(k, lane, at.m)];
	sfs_lane_set_ends(&at, sfs_known_table(k, lane, at.m));
	sfs_block_clear(ret_block);
	ret = sfs_lane_form(&at, &k->tables, ret_block, ret_shard);
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
	size_t i;
	int ret;

	if (ml->has_block && number >= ml->block.first &&
	    number < ml->block.first + ml->block.n)
		return 0;
	ml->has_block = false;
	ret = sfs_locator_seek(map, lane, number, &ml->lane, &ml->block, ret_shard);
	if (ret < 0)
		return ret;
	ml->has_block = map->is_single; /* whose bytes the sums know */
	if (ml->has_block)
		return 0;
	first = &ml->block.samples[0];
	table = sfs_known_table(&map->known, lane, first->m);
	*ret_shard = first->shard;
	if (!table)
		return -EAGAIN;
	i = sfs_known_slice(&map->known, lane, first->m);
	ml->block_bytes = sfs_known_bytes_to(&map->known, i, table, first->index);
	ml->has_block = true;
	return 0;
}

/* The bytes of the lane that come before its sample `number`. */
static int lane_bytes(struct sfs_locator *map, uint32_t lane, uint64_t number,
		      uint64_t *ret_bytes, uint32_t *ret_shard)
{
	struct sfs_locator_lane *ml = &map->lanes[lane];
	const struct sfs_known_lane *kl = &map->known.lanes[lane];
	uint64_t t;
	int ret;

	if (number >= kl->n && sfs_known_is_complete(&map->known, lane)) {
		*ret_bytes = kl->bytes;
		return 0;
	}
	if (number == 0) {
		*ret_bytes = 0;
		return 0;
	}
	/* After the last certain block, there is none to load. */
	ret = load_block(map, lane, number == kl->n_certain ? number - 1 : number,
			 ret_shard);
	if (ret < 0)
		return ret;
	*ret_bytes = ml->block_bytes;
	for (t = 0; t < number - ml->block.first; t++)
		*ret_bytes += sfs_block_at(&ml->block, t)->n_bytes;
	return 0;
}

/* ---- times ---- */

int sfs_locator_count(struct sfs_locator *map, uint32_t lane, uint64_t time,
		      uint64_t *ret_n, uint32_t *ret_shard)
{
	return sfs_known_count_before(&map->known, lane, time, ret_n, ret_shard);
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
			ret = sfs_known_count_before(&map->known, l, time, &ml->tried.n,
						     ret_shard);
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

/* Find the last time before which at most `most` samples or bytes come, of those that are
 * certain.  What comes before it is then what is early in each lane. */
static int search(struct sfs_locator *map, uint64_t most, bool by_number,
		  uint64_t *ret_time, uint32_t *ret_shard)
{
	uint64_t last = sfs_known_last_time(&map->known);
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

/* The number of the lane's first sample after a time; of those that are certain. */
static int count_to(const struct sfs_locator *map, uint32_t lane, uint64_t time,
		    uint64_t *ret_n, uint32_t *ret_shard)
{
	uint64_t n_certain = sfs_known_certain(&map->known, lane);
	int ret = sfs_known_count_before(&map->known, lane, time + 1, ret_n, ret_shard);

	if (ret == 0 && *ret_n > n_certain)
		*ret_n = n_certain;
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
		if (spot->time == map->known.edge_time &&
		    spot->lane == map->known.edge_lane)
			return sfs_known_explain_edge(&map->known, ret_shard);
	}
	*spot = (struct sfs_spot){.time = SFS_NEVER,
				  .offset = spot->offset,
				  .is_end = true};
	return 0;
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

	if (map->is_single) {
		*ret_spot = sfs_single_locator_find(&map->single, offset);
		return 0;
	}
	ret = update(map, ret_shard);
	if (ret == 0)
		ret = search(map, offset, false, &spot.time, ret_shard);
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

	if (map->is_single) {
		*ret_spot = sfs_single_locator_nth(&map->single, number);
		return 0;
	}
	ret = update(map, ret_shard);
	if (ret == 0 && map->known.edge_time != SFS_NEVER)
		ret = sfs_known_explain_edge(&map->known, ret_shard);
	if (ret == 0)
		ret = search(map, number, true, &spot.time, ret_shard);
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
			map->lanes[l].number = map->known.lanes[l].n;
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
	const struct sfs_known *k = &map->known;
	uint64_t number = map->lanes[lane].number;

	if (number < sfs_known_certain(k, lane))
		return sfs_known_time(k, lane, number, ret_time, ret_shard);
	*ret_time = sfs_known_is_complete(k, lane) ? SFS_NEVER : k->lanes[lane].edge_time;
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
	if (ret == 0 && !to.is_end && sfs_known_is_past_edge(&map->known, &to)) {
		ret = update(map, ret_shard); /* more may be certain now */
		to = from;
		if (ret == 0)
			ret = step(map, &to, ret_shard);
		if (ret == 0 && !to.is_end && sfs_known_is_past_edge(&map->known, &to))
			return sfs_known_explain_edge(&map->known, ret_shard);
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
		ret = sfs_known_time(&map->known, l, map->lanes[l].number - 1, &time,
				     ret_shard);
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
