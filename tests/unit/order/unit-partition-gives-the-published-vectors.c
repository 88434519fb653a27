/* SPDX-License-Identifier: MIT */
/* Lanes are those that tests/data/order-vectors-dealt.json, order-vectors-equal.json and
 * order-vectors-random.json publish: dealt, played through and looked up, in whole and in
 * parts; and so is which ranks there are. */
#include "order/iterate.h"
#include "order/locate.h"
#include "order/partition.h"
#include "vectors.h"

#include <errno.h>

#define MAX_SHARDS 64

static struct {
	struct sfs_order_settings settings;
	uint64_t epoch;
	struct sfs_sample_table shards[MAX_SHARDS];
	uint64_t *sizes; /* NULL: not needed */
	uint32_t n_shards;
	uint64_t n_samples;
} vector;

static const struct sfs_sample_table *get_table(void *ctx, uint32_t shard)
{
	(void)ctx;
	CHECK(shard < vector.n_shards);
	return &vector.shards[shard];
}

static uint64_t get_size(void *ctx, uint32_t shard)
{
	(void)ctx;
	return vector.sizes[shard];
}

static const struct sfs_sample_tables tables = {.get = get_table, .size = get_size};

static bool get_totals(void *ctx, uint32_t shard, uint64_t *ret_n, uint64_t *ret_bytes)
{
	const struct sfs_sample_table *t = get_table(ctx, shard);

	*ret_n = sfs_sample_table_n(t);
	*ret_bytes = sfs_sample_table_place(t, *ret_n);
	return true;
}

/* ---- shards ---- */

static void take_shard(struct sfs_sample_table *table)
{
	struct sfs_extent extent = {0};
	uint64_t *pair;
	size_t n;

	vectors_open();
	while (vectors_more()) {
		pair = vectors_list(&n);
		CHECK_EQ(n, 2);
		extent.start = pair[0];
		extent.n_bytes = pair[1];
		sfs_sample_table_add(table, &extent);
		vector.n_samples++;
		free(pair);
	}
	sfs_sample_table_end(table, SFS_SAMPLE_TABLE_WHOLE);
}

static void take_settings(void)
{
	struct sfs_order_settings *s = &vector.settings;

	memset(&vector, 0, sizeof vector);
	s->seed = vectors_named("seed");
	vector.epoch = vectors_named("epoch");
	s->lanes = (uint32_t)vectors_named("lanes");
	s->buffer_bytes = vectors_named("buffer");
	s->segment = vectors_named("segment");
	s->equal = (enum sfs_equal)vectors_named("equal");
	vectors_name("extents");
	vectors_open();
	while (vectors_more()) {
		CHECK(vector.n_shards < MAX_SHARDS);
		take_shard(&vector.shards[vector.n_shards++]);
	}
}

static void take_sizes(void)
{
	size_t n;

	vectors_name("sizes");
	vector.sizes = vectors_list(&n);
	CHECK_EQ(n, vector.n_shards);
}

static void drop_shards(void)
{
	uint32_t i;

	free(vector.sizes);
	for (i = 0; i < vector.n_shards; i++)
		sfs_sample_table_done(&vector.shards[i]);
}

/* ---- orders ---- */

static void deal(struct sfs_order *o, struct sfs_share share)
{
	sfs_partition(o, &vector.settings, vector.epoch, vector.n_shards, &tables, share);
	sfs_partition_sum(o, &tables);
}

static void check_sample(const struct sfs_block_sample *s, const uint64_t *pair)
{
	CHECK(s);
	CHECK_EQ(s->shard, pair[0]);
	CHECK_EQ(s->index, pair[1]);
}

/* Sample number k is found by its number and by its bytes. */
static void check_spot(struct sfs_locator *map, uint64_t k, uint64_t *offset,
		       const uint64_t *pair)
{
	const struct sfs_block_sample *s;
	struct sfs_spot spot, same;
	uint64_t number;
	uint32_t shard;

	CHECK_EQ(sfs_locator_nth(map, k, &spot, &shard), 0);
	CHECK(!spot.is_end);
	CHECK_EQ(spot.offset, *offset);
	CHECK_EQ(sfs_locator_number(map, &spot, &number, &shard), 0);
	CHECK_EQ(number, k);
	CHECK_EQ(sfs_locator_sample(map, &spot, &s, &shard), 0);
	check_sample(s, pair);
	*offset += s->n_bytes;
	CHECK_EQ(sfs_locator_find(map, *offset - 1, &same, &shard), 0);
	CHECK_EQ(same.time, spot.time);
	CHECK_EQ(same.lane, spot.lane);
}

/* The list of pairs that is next is this order. */
static void check_order(const struct sfs_order *o)
{
	uint64_t offset = 0, k, number, *pair;
	struct sfs_iterator play;
	struct sfs_spot spot;
	struct sfs_locator map;
	uint32_t shard;
	size_t n;

	sfs_iterator_init(&play, o, &tables);
	sfs_locator_init(&map, o, &tables, get_totals);
	vectors_open();
	for (k = 0; vectors_more(); k++) {
		pair = vectors_list(&n);
		CHECK_EQ(n, 2);
		check_sample(sfs_iterator_next(&play), pair);
		check_spot(&map, k, &offset, pair);
		free(pair);
	}
	CHECK(sfs_iterator_next(&play) == NULL);
	if (sfs_order_wants_equal_lanes(&vector.settings)) {
		CHECK_EQ(o->n_samples, k);
		CHECK_EQ(o->n_bytes, offset);
	}
	CHECK_EQ(sfs_locator_nth(&map, k, &spot, &shard), 0);
	CHECK(spot.is_end);
	CHECK_EQ(spot.offset, offset);
	CHECK_EQ(sfs_locator_number(&map, &spot, &number, &shard), 0);
	CHECK_EQ(number, k);
	sfs_iterator_done(&play);
	sfs_locator_done(&map);
}

static void check_whole(void)
{
	struct sfs_order o;
	uint32_t *permuted;
	uint64_t *wanted;
	size_t n, i;

	deal(&o, (struct sfs_share){0, 1, 1});
	CHECK_EQ(o.n_lanes, vectors_named("lanes_in_use"));
	CHECK_EQ(o.piece_bytes, vectors_named("C"));
	vectors_name("P");
	wanted = vectors_list(&n);
	permuted = sfs_order_permute(&o, (uint32_t)n);
	for (i = 0; i < n; i++)
		CHECK_EQ(permuted[i], wanted[i]);
	vectors_name("order");
	check_order(&o);
	free(permuted);
	free(wanted);
	sfs_order_done(&o);
}

static bool has_rank(uint64_t rank, uint64_t n_ranks)
{
	if (!sfs_order_wants_equal_lanes(&vector.settings)) /* none is without a segment */
		return rank < sfs_partition_dealt(&vector.settings, vector.n_shards,
						  &tables)
				      .n;
	return rank <
	       sfs_order_positions(&vector.settings, vector.n_samples, (uint32_t)n_ranks);
}

static void check_part(void)
{
	uint64_t rank = vectors_named("rank"), n_ranks = vectors_named("of");
	uint64_t worker = vectors_named("worker"), n_workers = vectors_named("workers");
	struct sfs_order o;

	CHECK(has_rank(rank, n_ranks));
	deal(&o, (struct sfs_share){.first = rank + n_ranks * worker,
				    .step = n_ranks * n_workers,
				    .n_ranks = (uint32_t)n_ranks});
	vectors_name("order");
	check_order(&o);
	sfs_order_done(&o);
}

static void check_refused(void)
{
	uint64_t *pair;
	size_t n;

	vectors_name("refused");
	vectors_open();
	while (vectors_more()) {
		pair = vectors_list(&n);
		CHECK_EQ(n, 2);
		/* (That W divides lanes is for name.h to say.) */
		CHECK(pair[0] >= pair[1] || vector.settings.lanes % pair[1] != 0 ||
		      !has_rank(pair[0], pair[1]));
		free(pair);
	}
}

static void check_file(const char *name, bool has_sizes, int least)
{
	int n = 0;

	vectors_load(name);
	vectors_open();
	for (; vectors_more(); n++) {
		take_settings();
		if (has_sizes)
			take_sizes();
		check_whole();
		vectors_name("parts");
		vectors_open();
		while (vectors_more())
			check_part();
		check_refused();
		drop_shards();
	}
	CHECK(n >= least);
	vectors_done();
}

int main(void)
{
	check_file("order-vectors-dealt.json", true, 8);
	check_file("order-vectors-equal.json", false, 12);
	check_file("order-vectors-random.json", true, 8);
	return 0;
}
