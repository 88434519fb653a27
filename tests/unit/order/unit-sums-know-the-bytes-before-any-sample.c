/* SPDX-License-Identifier: MIT */
/* Of 200,000 single samples, all windows and steps long: the part that a share has is
 * what the grid says, and each sample is found by its number and by its bytes. */
#include "check.h"
#include "order/iterate.h"
#include "order/partition.h"
#include "order/sums.h"

enum { N_SHARDS = 13, MOST = 30000, STEP = 397 };

static struct sfs_sample_table shards[N_SHARDS];

static const struct sfs_sample_table *get_table(void *ctx, uint32_t shard)
{
	(void)ctx;
	return &shards[shard];
}

static const struct sfs_sample_tables tables = {.get = get_table};

static void make_shards(void)
{
	struct sfs_rng r = {3};
	struct sfs_extent e;
	uint64_t i, n;
	uint32_t k;

	for (k = 0; k < N_SHARDS; k++) {
		n = k == 4 ? 0 : sfs_rng_below(&r, MOST);
		e = (struct sfs_extent){0};
		for (i = 0; i < n; i++, e.start += e.n_bytes) {
			e.n_bytes = 512 * (1 + sfs_rng_below(&r, 30));
			e.key_hash = sfs_rng_next(&r);
			sfs_sample_table_add(&shards[k], &e);
		}
		sfs_sample_table_end(&shards[k], SFS_SAMPLE_TABLE_WHOLE);
	}
}

/* Sample k of the part, by what the order says. */
static void check_sample(const struct sfs_order *o, uint64_t k,
			 const struct sfs_block_sample *s)
{
	uint32_t lane = (uint32_t)(k % o->n_lanes), m = (uint32_t)(k / o->n_lanes);
	struct sfs_slice slice = sfs_order_slice(o, lane, m);
	struct sfs_sample_table_sample t =
		sfs_sample_table_get(&shards[slice.shard], slice.first);

	CHECK_EQ(s->shard, slice.shard);
	CHECK_EQ(s->index, slice.first);
	CHECK_EQ(s->m, m);
	CHECK_EQ(s->start, t.start);
	CHECK_EQ(s->n_bytes, t.n_bytes);
	CHECK(s->key_hash == t.key_hash);
}

static void check_spot(const struct sfs_order *o, const struct sfs_spot *spot, uint64_t k,
		       uint64_t offset)
{
	CHECK(!spot->is_end);
	CHECK_EQ(spot->number * o->n_lanes + spot->lane, k);
	CHECK_EQ(spot->offset, offset);
}

/* Sample k is found by its number, its first byte and its last, and the iterator seeks
 * to its round. */
static void find(struct sfs_locator *map, uint64_t k, uint64_t offset, uint64_t n_bytes)
{
	const struct sfs_order *o = map->order;
	const struct sfs_block_sample *s;
	struct sfs_iterator it;
	struct sfs_spot spot;
	uint64_t number;
	uint32_t shard;

	CHECK_EQ(sfs_locator_nth(map, k, &spot, &shard), 0);
	check_spot(o, &spot, k, offset);
	CHECK_EQ(sfs_locator_number(map, &spot, &number, &shard), 0);
	CHECK_EQ(number, k);
	CHECK_EQ(sfs_locator_sample(map, &spot, &s, &shard), 0);
	check_sample(o, k, s);
	CHECK_EQ(sfs_locator_find(map, offset, &spot, &shard), 0);
	check_spot(o, &spot, k, offset);
	CHECK_EQ(sfs_locator_find(map, offset + n_bytes - 1, &spot, &shard), 0);
	check_spot(o, &spot, k, offset);
	sfs_iterator_init(&it, o, &tables);
	sfs_iterator_seek(&it, map, k / o->n_lanes);
	check_sample(o, k / o->n_lanes * o->n_lanes, sfs_iterator_next(&it));
	sfs_iterator_done(&it);
}

static void check_end(struct sfs_locator *map)
{
	struct sfs_spot spot;
	uint32_t shard;

	CHECK_EQ(sfs_locator_nth(map, UINT64_MAX, &spot, &shard), 0);
	CHECK(spot.is_end);
	CHECK_EQ(spot.offset, map->order->n_bytes);
	CHECK_EQ(sfs_locator_find(map, map->order->n_bytes, &spot, &shard), 0);
	CHECK(spot.is_end);
}

static void check_share(uint32_t lanes, enum sfs_equal equal, struct sfs_share share)
{
	const struct sfs_order_settings settings = {.seed = 8,
						    .lanes = lanes,
						    .segment = SFS_SEGMENT_SAMPLE,
						    .equal = equal};
	const struct sfs_block_sample *s;
	struct sfs_iterator it;
	struct sfs_locator map;
	uint64_t k, offset = 0;
	struct sfs_order o;

	sfs_partition(&o, &settings, 5, N_SHARDS, &tables, share);
	sfs_partition_sum(&o, &tables);
	sfs_iterator_init(&it, &o, &tables);
	sfs_locator_init(&map, &o, &tables, NULL);
	for (k = 0; (s = sfs_iterator_next(&it)) != NULL; k++) {
		check_sample(&o, k, s);
		if (k % STEP == 0)
			find(&map, k, offset, s->n_bytes);
		offset += s->n_bytes;
	}
	CHECK_EQ(k, o.n_samples);
	CHECK_EQ(offset, o.n_bytes);
	CHECK_EQ(offset, sfs_sums_all(&o, &tables));
	check_end(&map);
	sfs_locator_done(&map);
	sfs_iterator_done(&it);
	sfs_order_done(&o);
}

int main(void)
{
	uint32_t k;

	make_shards();
	check_share(384, SFS_EQUAL_NONE, (struct sfs_share){0, 1, 1});
	check_share(8192, SFS_EQUAL_PAD, (struct sfs_share){0, 1, 1});
	check_share(384, SFS_EQUAL_NONE, (struct sfs_share){5, 8, 8});
	check_share(384, SFS_EQUAL_DROP, (struct sfs_share){63, 64, 64});
	check_share(384, SFS_EQUAL_PAD, (struct sfs_share){63, 64, 64});
	check_share(384, SFS_EQUAL_PAD, (struct sfs_share){7 + 8 * 4, 8 * 5, 8});
	check_share(7, SFS_EQUAL_NONE, (struct sfs_share){2, UINT64_C(1) << 40, 1});
	for (k = 0; k < N_SHARDS; k++)
		sfs_sample_table_done(&shards[k]);
	return 0;
}
