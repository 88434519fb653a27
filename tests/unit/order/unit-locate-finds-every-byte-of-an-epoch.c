/* SPDX-License-Identifier: MIT */
/* Which sample is at a byte of an epoch: as if the epoch were played through, from
 * whatever the tables know so far; what they don't know is never guessed, also if they
 * were dropped and grow again. */
#include "epochs.h"
#include "order/locate.h"

#include <errno.h>

static struct sfs_locator map;

static bool get_totals(void *ctx, uint32_t shard, uint64_t *ret_n, uint64_t *ret_bytes)
{
	CHECK(shard < made.n_shards);
	*ret_n = made.shards[shard].n;
	*ret_bytes = made.shards[shard].n_bytes;
	return made.shards[shard].has_totals;
}

static void begin(void)
{
	sfs_locator_init(&map, &made.order, &tables, get_totals);
}

/* Sample number k of the epoch; made.n: its end. */
static void check_spot(const struct sfs_spot *spot, size_t k)
{
	const struct sfs_block_sample *s;
	uint32_t shard;

	CHECK_EQ(spot->is_end, k == made.n);
	if (k == made.n) {
		CHECK_EQ(spot->offset, made.n_bytes);
		return;
	}
	CHECK_EQ(spot->time, made.epoch[k].time);
	CHECK_EQ(spot->number, made.number_of[k]);
	CHECK_EQ(spot->lane, made.lane_of[k]);
	CHECK_EQ(spot->offset, made.epoch[k].offset);
	CHECK_EQ(sfs_locator_sample(&map, spot, &s, &shard), 0);
	check_sample(s, &made.epoch[k]);
}

/* The same without the sample itself, whose table may be gone. */
static void check_offset(const struct sfs_spot *spot, size_t k)
{
	CHECK_EQ(spot->is_end, k == made.n);
	CHECK_EQ(spot->offset, k == made.n ? made.n_bytes : made.epoch[k].offset);
}

/* The number of the sample that holds this byte. */
static size_t number_at(uint64_t offset)
{
	size_t low = 0, high = made.n, middle;

	while (low < high) {
		middle = (low + high) / 2;
		if (made.epoch[middle].offset +
			    made_extent(&made.epoch[middle])->n_bytes <=
		    offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Sample number k of the epoch comes after so many of each lane. */
static void check_number(const struct sfs_spot *spot, size_t k)
{
	uint64_t number, of_lanes = 0;
	uint32_t l, shard;

	CHECK_EQ(sfs_locator_number(&map, spot, &number, &shard), 0);
	CHECK_EQ(number, k);
	for (l = 0; l < made.order.n_lanes; l++) {
		CHECK_EQ(sfs_locator_lane_number(&map, spot, l, &number, &shard), 0);
		CHECK(number == 0 ||
		      made.lanes[l][number - 1].offset < made.epoch[k].offset ||
		      k == made.n);
		of_lanes += number;
	}
	CHECK_EQ(of_lanes, k);
}

static void find(uint64_t offset)
{
	struct sfs_spot spot;
	uint32_t shard;

	memset(&spot, 0x5a, sizeof spot);
	CHECK_EQ(sfs_locator_find(&map, offset, &spot, &shard), 0);
	check_spot(&spot, number_at(offset));
	check_number(&spot, number_at(offset));
}

/* ---- all is known ---- */

static void everywhere(void)
{
	struct sfs_rng r = {1};
	size_t k;

	begin();
	for (k = 0; k < made.n; k++) {
		find(made.epoch[k].offset);
		find(made.epoch[k].offset + made_extent(&made.epoch[k])->n_bytes - 1);
	}
	for (k = 0; k < 100; k++)
		find(sfs_rng_below(&r, made.n_bytes + 5000));
	find(made.n_bytes);
	find(UINT64_MAX);
	sfs_locator_done(&map);
}

static void nth(void)
{
	struct sfs_spot spot;
	uint32_t shard;
	size_t k;

	begin();
	for (k = 0; k < made.n; k++) {
		CHECK_EQ(sfs_locator_nth(&map, k, &spot, &shard), 0);
		check_spot(&spot, k);
		check_number(&spot, k);
	}
	CHECK_EQ(sfs_locator_nth(&map, made.n, &spot, &shard), 0);
	check_spot(&spot, made.n);
	CHECK_EQ(sfs_locator_nth(&map, UINT64_MAX, &spot, &shard), 0);
	check_spot(&spot, made.n);
	sfs_locator_done(&map);
}

/* Counting needs all tables: it asks for them, one by one, and for none twice. */
static void nth_growing(void)
{
	struct sfs_spot spot;
	uint32_t shard;
	size_t steps = 0;
	int ret;

	shrink_all();
	begin();
	while ((ret = sfs_locator_nth(&map, made.n / 2, &spot, &shard)) == -EAGAIN) {
		CHECK(shard < made.n_shards && !is_whole(shard));
		while (!is_whole(shard))
			grow(shard);
		CHECK(steps++ < made.n_shards);
	}
	CHECK_EQ(ret, 0);
	check_spot(&spot, made.n / 2);
	for (shard = 0; shard < made.n_shards; shard++)
		CHECK(is_whole(shard));
	sfs_locator_done(&map);
}

static void there_and_back(void)
{
	struct sfs_spot spot;
	uint32_t shard;
	size_t k;

	begin();
	CHECK_EQ(sfs_locator_find(&map, 0, &spot, &shard), 0);
	for (k = 0; k < made.n; k++) {
		check_spot(&spot, k);
		CHECK_EQ(sfs_locator_next(&map, &spot, &shard), 0);
	}
	check_spot(&spot, made.n);
	if (made.n > 0)
		CHECK_EQ(sfs_locator_find(&map, made.n_bytes - 1, &spot, &shard), 0);
	for (k = made.n; k-- > 1;) {
		CHECK_EQ(sfs_locator_previous(&map, &spot, &shard), 0);
		CHECK(!spot.is_end);
		spot.offset = made.epoch[k - 1].offset;
		check_spot(&spot, k - 1);
	}
	if (made.n > 0)
		CHECK_EQ(sfs_locator_previous(&map, &spot, &shard), -ENOENT);
	sfs_locator_done(&map);
}

/* Go on with a lane from any of its samples. */
static void seek(void)
{
	struct sfs_block b = {0};
	struct sfs_spot spot;
	struct sfs_lane lane;
	uint32_t l, shard;
	uint64_t skip, t;
	size_t at;
	int ret;

	begin();
	CHECK_EQ(sfs_locator_find(&map, 0, &spot, &shard),
		 0); /* takes account of the tables */
	for (l = 0; l < made.order.n_lanes; l++) {
		for (at = 0; at < made.n_lane[l]; at++) {
			CHECK_EQ(sfs_locator_seek(&map, l, at, &lane, &b, &shard), 0);
			CHECK(b.first <= at);
			skip = at - b.first;
			CHECK(skip < b.n);
			for (t = at;;) {
				for (; skip < b.n; skip++, t++)
					check_sample(sfs_block_at(&b, skip),
						     &made.lanes[l][t]);
				skip = 0;
				sfs_block_clear(&b);
				ret = sfs_lane_form(&lane, &tables, &b, &shard);
				if (ret < 0)
					break;
				CHECK_EQ(b.first, t);
			}
			CHECK_EQ(ret, -ENODATA);
			CHECK_EQ(t, made.n_lane[l]);
		}
		CHECK_EQ(sfs_locator_seek(&map, l, made.n_lane[l], &lane, &b, &shard),
			 -ENODATA);
	}
	sfs_block_done(&b);
	sfs_locator_done(&map);
}

/* How many samples of each lane come before a time. */
static void counts(void)
{
	struct sfs_rng r = {4};
	struct sfs_spot spot;
	uint32_t l, shard, round;
	uint64_t n, time;
	size_t k;

	begin();
	CHECK_EQ(sfs_locator_find(&map, 0, &spot, &shard), 0);
	for (round = 0; round < 50; round++) {
		k = made.n ? (size_t)sfs_rng_below(&r, made.n) : 0;
		time = made.epoch[k].time + sfs_rng_below(&r, 3);
		for (l = 0; l < made.order.n_lanes; l++) {
			CHECK_EQ(sfs_locator_count(&map, l, time, &n, &shard), 0);
			CHECK(n <= made.n_lane[l]);
			CHECK(n == 0 || made.lanes[l][n - 1].time < time);
			CHECK(n == made.n_lane[l] || made.lanes[l][n].time >= time);
		}
	}
	sfs_locator_done(&map);
}

/* ---- not all is known ---- */

/* Of a dealt lane: how many leading samples are certain, as its tables are; and the
 * earliest time of the next.  false: all are. */
static bool find_edge(uint32_t l, size_t *ret_n, uint64_t *ret_time)
{
	size_t m = 0, n = 0, known, i;
	const struct made_shard *s;
	uint64_t piece, place;

	for (;; m++) {
		if (m == sfs_order_lane_slices(&made.order, l))
			return false;
		s = &made.shards[sfs_order_slice(&made.order, l, (uint32_t)m).shard];
		if (sfs_sample_table_state(&s->table) != SFS_SAMPLE_TABLE_WHOLE)
			break;
	}
	known = sfs_sample_table_n(&s->table);
	place = made_base(l, m);
	if (known > 0)
		place += s->extents[known - 1].start + s->extents[known - 1].n_bytes;
	piece = sfs_order_piece(&made.order, place);
	*ret_time = made_time(l, m, known);
	for (m = 0;; m++) {
		s = &made.shards[sfs_order_slice(&made.order, l, (uint32_t)m).shard];
		for (i = 0; i < sfs_sample_table_n(&s->table); i++, n++) {
			place = made_base(l, m) + s->extents[i].start;
			if (sfs_order_piece(&made.order, place) < piece)
				continue;
			*ret_n = n;
			*ret_time = made_time(l, m, i);
			return true;
		}
		if (sfs_sample_table_state(&s->table) != SFS_SAMPLE_TABLE_WHOLE)
			break;
	}
	*ret_n = n;
	return true;
}

/* Is sample number k of the epoch certain, whatever the tables will say? */
static bool is_certain(size_t k)
{
	uint64_t time;
	uint32_t l;
	size_t n;

	for (l = 0; l < made.order.n_lanes; l++) {
		if (!find_edge(l, &n, &time))
			continue;
		if (k == made.n || made.epoch[k].time > time ||
		    (made.epoch[k].time == time && made.lane_of[k] > l) ||
		    (made.lane_of[k] == l && made.number_of[k] >= n))
			return false;
	}
	return true;
}

/* Grow what it wants until it answers. */
static void find_growing(uint64_t offset)
{
	struct sfs_spot spot;
	uint32_t shard = UINT32_MAX;
	size_t steps = 0;
	int ret;

	while ((ret = sfs_locator_find(&map, offset, &spot, &shard)) == -EAGAIN) {
		CHECK(shard < made.n_shards && !is_whole(shard));
		grow(shard);
		CHECK(steps++ < 100000);
	}
	CHECK_EQ(ret, 0);
	check_spot(&spot, number_at(offset));
}

static void growing(void)
{
	struct sfs_rng r = {2};
	struct sfs_spot spot;
	uint32_t shard;
	uint64_t offset;
	size_t k;
	int ret;

	shrink_all();
	begin();
	find_growing(0);
	for (k = 0; k < 20; k++) {
		find_growing(made.n_bytes / 40 * k);
		/* Elsewhere: the right answer or none. */
		offset = sfs_rng_below(&r, made.n_bytes + 1);
		ret = sfs_locator_find(&map, offset, &spot, &shard);
		CHECK_EQ(ret, is_certain(number_at(offset)) ? 0 : -EAGAIN);
		if (ret == 0)
			check_spot(&spot, number_at(offset));
		grow((uint32_t)sfs_rng_below(&r, made.n_shards));
	}
	find_growing(made.n_bytes);
	sfs_locator_done(&map);

	/* The same from the first sample to the end, by steps. */
	shrink_all();
	begin();
	find_growing(0);
	CHECK_EQ(sfs_locator_find(&map, 0, &spot, &shard), 0);
	for (k = 0; k < made.n; k++) {
		while ((ret = sfs_locator_next(&map, &spot, &shard)) == -EAGAIN)
			grow(shard);
		CHECK_EQ(ret, 0);
		check_spot(&spot, k + 1);
	}
	sfs_locator_done(&map);
}

/* Tables come and go; sums are remembered. */
static void without_tables(void)
{
	struct sfs_rng r = {3};
	struct sfs_spot spot;
	uint64_t offset;
	uint32_t shard, k;
	size_t round, looks;

	shrink_all();
	grow_all();
	begin();
	for (round = 0; round < 100; round++) {
		for (k = 0; k < made.n_shards; k++)
			made.shards[k].is_hidden = true;
		offset = sfs_rng_below(&r, made.n_bytes + 1);
		looks = 0;
		while (sfs_locator_find(&map, offset, &spot, &shard) == -EAGAIN) {
			CHECK(made.shards[shard].is_hidden);
			made.shards[shard].is_hidden = false;
			looks++;
		}
		CHECK(looks <= made.n_shards);
		CHECK_EQ(spot.is_end, offset == made.n_bytes);
		CHECK_EQ(spot.offset, offset == made.n_bytes
					      ? offset
					      : made.epoch[number_at(offset)].offset);
	}
	sfs_locator_done(&map);
}

/* Tables of which the totals are known were dropped and grow again, some not at all yet:
 * each look-up gets the right answer, or the shard that must grow first. */
static void grown_again(void)
{
	struct sfs_rng r = {5};
	struct sfs_spot spot;
	uint32_t shard, k;
	uint64_t n;
	size_t round, steps, at;
	int ret;

	shrink_all();
	grow_all();
	begin();
	for (round = 0; round < 60; round++) {
		for (k = 0; k < made.n_shards; k++) {
			if (sfs_rng_below(&r, 3) == 0)
				sfs_sample_table_done(&made.shards[k].table);
			for (n = sfs_rng_below(&r, 4); n > 0 && !is_whole(k); n--)
				grow(k);
		}
		at = (size_t)sfs_rng_below(&r, made.n + 1);
		for (steps = 0;; steps++) {
			if (round % 3 == 0)
				ret = sfs_locator_nth(&map, at, &spot, &shard);
			else
				ret = sfs_locator_find(
					&map,
					at == made.n ? made.n_bytes
						     : made.epoch[at].offset,
					&spot, &shard);
			if (ret == 0)
				ret = sfs_locator_number(&map, &spot, &n, &shard);
			if (ret == 0 && round % 2 == 0 && at < made.n)
				ret = sfs_locator_next(&map, &spot, &shard);
			if (ret == 0)
				break;
			CHECK_EQ(ret, -EAGAIN);
			CHECK(shard < made.n_shards && !is_whole(shard));
			grow(shard);
			CHECK(steps < 100000);
		}
		CHECK_EQ(n, at);
		check_offset(&spot, round % 2 == 0 && at < made.n ? at + 1 : at);
		if (at > 0 && at < made.n &&
		    sfs_locator_previous(&map, &spot, &shard) == 0)
			CHECK_EQ(spot.time, made.epoch[round % 2 ? at - 1 : at].time);
	}
	sfs_locator_done(&map);
}

/* Bytes before the damage are found, those behind it never. */
static void damaged(uint32_t bad)
{
	struct made_shard *s = &made.shards[bad];
	struct sfs_spot spot;
	uint32_t k, shard, lane = 0;
	uint64_t offset, first_bad = UINT64_MAX;
	size_t i, half = s->n / 2;
	int ret, before = 0;

	shrink_all();
	for (k = 0; k < made.n_shards; k++)
		while (k != bad && !is_whole(k))
			grow(k);
	for (i = 0; i < half; i++)
		grow(bad);
	sfs_sample_table_end(&s->table, SFS_SAMPLE_TABLE_DAMAGED);
	begin();
	for (i = 0; i < made.n; i++) {
		offset = made.epoch[i].offset;
		ret = sfs_locator_find(&map, offset, &spot, &shard);
		CHECK(ret == 0 || ret == -EBADMSG);
		CHECK(ret == 0 || before == 0 || before == -EBADMSG);
		CHECK(ret == -EBADMSG ||
		      before == 0); /* once broken, broken to the end */
		before = ret;
		if (ret == 0) {
			check_spot(&spot, i);
		} else {
			CHECK_EQ(shard, bad);
			if (first_bad == UINT64_MAX)
				first_bad = i;
		}
	}
	/* It is met no later than where the first lost sample would be. */
	for (i = 0; i < made.n && first_bad != UINT64_MAX; i++) {
		if (made.epoch[i].shard == bad && made.epoch[i].index >= half) {
			CHECK(first_bad <= i);
			lane = made.lane_of[i];
			break;
		}
	}
	CHECK_EQ(sfs_locator_nth(&map, 0, &spot, &shard), -EBADMSG);
	CHECK_EQ(shard, bad);
	CHECK(s->n == 0 || half == s->n || first_bad != UINT64_MAX);
	CHECK(first_bad == UINT64_MAX || made.lane_of[first_bad] == lane);
	sfs_locator_done(&map);
}

/* Any part of any shards that were dealt; some lanes have no sample. */
static void dealt_lanes(void)
{
	uint64_t seed;

	for (seed = 6000; seed < 6060; seed++) {
		make_random_dealt_epoch(seed);
		grow_all();
		everywhere();
		there_and_back();
		nth();
		counts();
		if (seed % 5 == 0)
			seek();
		growing();
		without_tables();
		grown_again();
		if (made.n > 0)
			damaged(made.epoch[made.n / 2].shard);
		unmake_epoch();
	}
}

/* ---- equal lanes: all is always known ---- */

static void equal_lanes(void)
{
	size_t n_repeating = 0, n_shortened = 0, n_empty = 0;
	uint64_t seed;

	for (seed = 0; seed < 800; seed++) {
		make_random_equal_epoch(seed);
		CHECK_EQ(made.order.n_samples, made.n);
		CHECK_EQ(made.order.n_bytes, made.n_bytes);
		everywhere();
		there_and_back();
		nth();
		counts();
		seek();
		n_repeating += made.order.repeating != SFS_NO_LANE;
		n_shortened += made.order.shortened != SFS_NO_LANE;
		n_empty += made.n == 0;
		unmake_epoch();
	}
	CHECK(n_repeating > 20 && n_shortened > 20 && n_empty > 20);
}

int main(void)
{
	static const struct {
		uint32_t n_shards, n_lanes;
		size_t most;
		uint64_t buffer;
	} cases[] = {
		{1, 1, 40, 0},	      {1, 384, 40, 20000}, {7, 1, 20, 30000},
		{20, 3, 12, 100000},  {20, 3, 12, 0},	   {40, 40, 60, 1 << 20},
		{40, 8, 60, 1 << 30}, {30, 4, 1, 10000}, /* shards of one or none */
	};
	size_t i;

	for (i = 0; i < SFS_COUNT(cases); i++) {
		make_epoch(i + 1, cases[i].n_shards, cases[i].n_lanes, cases[i].most,
			   cases[i].buffer);
		CHECK(made.n > 0);
		grow_all();
		everywhere();
		there_and_back();
		nth();
		counts();
		seek();
		growing();
		nth_growing();
		without_tables();
		grown_again();
		damaged(made.epoch[made.n / 2].shard);
		damaged(made.epoch[0].shard);
		unmake_epoch();
	}

	/* No samples at all. */
	make_epoch(1, 5, 2, 0, 1000);
	grow_all();
	everywhere();
	there_and_back();
	nth();
	growing();
	nth_growing();
	unmake_epoch();

	dealt_lanes();
	equal_lanes();
	return 0;
}
