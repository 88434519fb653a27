/* SPDX-License-Identifier: MIT */
/* Played through, an epoch has each sample once, in the order in which it is read. */
#include "epochs.h"
#include "order/iterate.h"

static void whole(void)
{
	const struct sfs_block_sample *s;
	struct sfs_iterator play;
	size_t k;

	sfs_iterator_init(&play, &made.order, &tables);
	for (k = 0; (s = sfs_iterator_next(&play)) != NULL; k++) {
		CHECK(k < made.n);
		check_sample(s, &made.epoch[k]);
	}
	CHECK_EQ(k, made.n);
	CHECK(sfs_iterator_next(&play) == NULL);
	sfs_iterator_done(&play);
}

static bool totals_of(void *ctx, uint32_t shard, uint64_t *ret_n, uint64_t *ret_bytes)
{
	*ret_n = made.shards[shard].n;
	*ret_bytes = made.shards[shard].n_bytes;
	return true;
}

/* From each time on, forwards and back. */
static void from_times(void)
{
	const struct sfs_block_sample *s;
	struct sfs_iterator play;
	struct sfs_locator map;
	struct sfs_spot spot;
	uint32_t shard;
	size_t k, i, n;

	sfs_iterator_init(&play, &made.order, &tables);
	sfs_locator_init(&map, &made.order, &tables, totals_of);
	for (n = 0; n < made.n; n += 1 + made.n / 20) {
		k = n % 2 ? n : made.n - 1 - n;
		CHECK_EQ(sfs_locator_nth(&map, k, &spot, &shard), 0);
		while (k > 0 && made.epoch[k - 1].time == spot.time)
			k--;
		sfs_iterator_seek(&play, &map, spot.time);
		for (i = 0; i < 100 && (s = sfs_iterator_next(&play)) != NULL; i++, k++)
			check_sample(s, &made.epoch[k]);
		CHECK(i == 100 || k == made.n);
	}
	sfs_locator_done(&map);
	sfs_iterator_done(&play);
}

/* Where a window begins, the playing can be taken up again. */
static void from_windows(void)
{
	const struct sfs_block_sample *s;
	struct sfs_iterator play, again;
	struct sfs_locator map;
	struct sfs_spot spot;
	uint32_t shard;
	size_t k, i;

	sfs_iterator_init(&play, &made.order, &tables);
	sfs_iterator_init(&again, &made.order, &tables);
	sfs_locator_init(&map, &made.order, &tables, totals_of);
	CHECK_EQ(sfs_locator_nth(&map, 0, &spot, &shard), 0);
	for (k = 0;; k++) {
		if (sfs_iterator_is_between(&play)) {
			sfs_iterator_seek(&again, &map, play.time);
			for (i = k; (s = sfs_iterator_next(&again)) != NULL; i++)
				check_sample(s, &made.epoch[i]);
			CHECK_EQ(i, made.n);
		}
		if (!sfs_iterator_next(&play))
			break;
	}
	CHECK_EQ(k, made.n);
	CHECK(sfs_iterator_memory(&play) > 0);
	sfs_locator_done(&map);
	sfs_iterator_done(&again);
	sfs_iterator_done(&play);
}

static void dealt_lanes(void)
{
	uint64_t seed;

	for (seed = 6000; seed < 6300; seed++) {
		make_random_dealt_epoch(seed);
		grow_all();
		whole();
		from_times();
		from_windows();
		unmake_epoch();
	}
}

/* Equal lanes, and a part's lanes too, take turns to the last sample. */
static void equal_lanes(void)
{
	uint64_t seed;
	size_t k;

	for (seed = 1000; seed < 1400; seed++) {
		make_random_equal_epoch(seed);
		whole();
		from_times();
		from_windows();
		for (k = 0; k < made.n; k++)
			CHECK_EQ(made.lane_of[k], k % made.order.n_lanes);
		unmake_epoch();
	}
}

int main(void)
{
	static const struct {
		uint32_t n_shards, n_lanes;
		size_t most;
		uint64_t buffer;
	} cases[] = {{1, 1, 40, 0},	   {1, 384, 40, 20000}, {7, 1, 20, 30000},
		     {20, 3, 12, 100000},  {20, 3, 12, 0},	{40, 40, 60, 1 << 20},
		     {40, 8, 60, 1 << 30}, {30, 4, 1, 10000},	{5, 2, 0, 1000}};
	size_t i;

	for (i = 0; i < SFS_COUNT(cases); i++) {
		make_epoch(i + 1, cases[i].n_shards, cases[i].n_lanes, cases[i].most,
			   cases[i].buffer);
		grow_all();
		whole();
		from_times();
		from_windows();
		unmake_epoch();
	}
	dealt_lanes();
	equal_lanes();
	return 0;
}
