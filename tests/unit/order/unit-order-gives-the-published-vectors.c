/* SPDX-License-Identifier: MIT */
/* The order is the one that tests/data/order-vectors.json and the example of docs/ORDER.md
 * publish, and holds every shard and every place once. */
#include "base/alloc.h"
#include "base/rng.h"
#include "check.h"
#include "order/order.h"
#include "vectors.h"

/* ---- the vectors ---- */

/* The i-th shard that was distributed, one to each lane in turn. */
static uint32_t dealt(const struct sfs_order *o, uint32_t i)
{
	return sfs_order_slice(o, i % o->n_lanes, i / o->n_lanes).shard;
}

static void check_block(const struct sfs_order *o)
{
	uint32_t lane = (uint32_t)vectors_named("lane"), *perm;
	uint64_t piece = vectors_named("piece"), *wanted;
	size_t n, i;

	vectors_name("order");
	wanted = vectors_list(&n);
	perm = sfs_reallocarray(NULL, n + 1, sizeof *perm);
	perm[n] = 77;
	sfs_order_block(o, lane, piece, perm, n);
	for (i = 0; i < n; i++)
		CHECK_EQ(perm[i], wanted[i]);
	CHECK_EQ(perm[n], 77);
	free(perm);
	free(wanted);
}

static const struct sfs_share all = {.step = 1, .n_ranks = 1};

/* Shards of 5120 bytes. */
static void init(struct sfs_order *o, uint64_t seed, uint64_t epoch, uint32_t n_shards,
		 uint32_t lanes, uint64_t buffer)
{
	const struct sfs_order_settings settings = {.seed = seed,
						    .lanes = lanes,
						    .buffer_bytes = buffer};
	sfs_autofree uint64_t *sizes = sfs_calloc(n_shards, sizeof *sizes);
	uint32_t i;

	for (i = 0; i < n_shards; i++)
		sizes[i] = 5120;
	sfs_order_init(o, &settings, epoch, sizes, n_shards, all);
}

static void check_time(const struct sfs_order *o)
{
	uint32_t lane = (uint32_t)vectors_named("lane");
	uint64_t v = vectors_named("V"), time = vectors_named("time");

	CHECK_EQ(sfs_order_time(o, lane, v), time);
	CHECK(sfs_order_v_at(o, lane, time) <= v);
	CHECK(sfs_order_v_at(o, lane, time + 1) > v);
}

static void check_vector(void)
{
	struct sfs_order_settings settings = {.seed = vectors_named("seed")};
	uint64_t epoch = vectors_named("epoch"), shards = vectors_named("shards"), *sizes,
		 i;
	struct sfs_order o;
	size_t n;

	settings.lanes = (uint32_t)vectors_named("lanes");
	settings.buffer_bytes = vectors_named("buffer");
	vectors_name("sizes");
	sizes = vectors_list(&n);
	CHECK_EQ(n, shards);
	sfs_order_init(&o, &settings, epoch, sizes, (uint32_t)shards, all);
	free(sizes);
	CHECK_EQ(o.n_lanes, vectors_named("lanes_in_use"));
	CHECK_EQ(o.piece_bytes, vectors_named("C"));
	vectors_name("P");
	vectors_open();
	for (i = 0; vectors_more(); i++)
		CHECK_EQ(dealt(&o, (uint32_t)i), vectors_number());
	CHECK_EQ(i, shards);
	vectors_name("half");
	vectors_open();
	for (i = 0; vectors_more(); i++)
		CHECK_EQ(o.paces[i].half, vectors_number());
	CHECK_EQ(i, o.n_lanes);
	vectors_name("times");
	vectors_open();
	while (vectors_more())
		check_time(&o);
	vectors_name("piece_ends");
	vectors_open();
	for (i = 0; vectors_more(); i++)
		CHECK_EQ(sfs_order_piece_end(&o, i), vectors_number());
	vectors_name("blocks");
	vectors_open();
	while (vectors_more())
		check_block(&o);
	sfs_order_done(&o);
}

static void vectors(void)
{
	int n = 0;

	vectors_load("order-vectors.json");
	vectors_open();
	for (; vectors_more(); n++)
		check_vector();
	CHECK(n >= 4);
	vectors_done();
}

/* ---- docs/ORDER.md, section 10 ---- */

static void example(void)
{
	static const uint32_t p[] = {0, 2, 1}, four[] = {0, 2, 1, 3};
	/* Of samples of 1024 bytes: the ends of the three before, in the shard. */
	static const uint64_t v[] = {0, 1024, 1024 + 2048, 1024 + 2048 + 3072};
	static const uint64_t times[3][4] = {{0, 159275569, 477826709, 955653419},
					     {2389133549, 2516189132, 2770300298,
					      3151467047},
					     {0, 362679019, 1088037057, 2176074115}};
	struct sfs_order o;
	uint32_t perm[4], i;

	init(&o, 0, 0, 3, 2, 8192);
	for (i = 0; i < 3; i++)
		CHECK_EQ(dealt(&o, i), p[i]);
	CHECK_EQ(o.n_lanes, 2);
	CHECK_EQ(o.piece_bytes, 4096);
	CHECK_EQ(sfs_order_lane_slices(&o, 0), 2);
	CHECK_EQ(sfs_order_lane_slices(&o, 1), 1);
	CHECK_EQ(sfs_order_piece(&o, 0), 0);
	CHECK_EQ(sfs_order_piece(&o, 1024), 3);
	CHECK_EQ(sfs_order_piece(&o, 2048), 4);
	CHECK_EQ(sfs_order_piece(&o, 4096), 5);
	CHECK_EQ(sfs_order_piece(&o, 7168), 5);
	sfs_order_block(&o, 0, 5, perm, 4);
	CHECK(memcmp(perm, four, sizeof four) == 0);
	sfs_order_block(&o, 1, 4, perm, 2);
	CHECK(perm[0] == 1 && perm[1] == 0);

	CHECK_EQ(o.paces[0].half, 2389133549);
	CHECK_EQ(o.paces[1].half, 2720092644);
	CHECK_EQ(o.paces[0].n_bytes, 10240);
	CHECK_EQ(sfs_order_base(&o, 0, 1), 5120);
	for (i = 0; i < 4; i++) {
		CHECK_EQ(sfs_order_time(&o, 0, v[i]), times[0][i]);
		CHECK_EQ(sfs_order_time(&o, 0, 3 * 5120 + v[i]), times[1][i]);
		CHECK_EQ(sfs_order_time(&o, 1, v[i]), times[2][i]);
	}
	sfs_order_done(&o);
}

/* ---- what holds for every order ---- */

static void each_shard_once(void)
{
	struct sfs_rng r = {9};
	int round;

	for (round = 0; round < 300; round++) {
		uint32_t n = 1 + (uint32_t)sfs_rng_below(&r, 300), l, m, n_all = 0;
		sfs_autofree unsigned char *seen = sfs_calloc(n, 1);
		uint32_t lanes = 1 + (uint32_t)sfs_rng_below(&r, 400);
		struct sfs_order o;

		init(&o, sfs_rng_next(&r), sfs_rng_next(&r), n, lanes, sfs_rng_next(&r));
		CHECK_EQ(o.n_lanes, n < lanes ? n : lanes);
		for (l = 0; l < o.n_lanes; l++) {
			CHECK(sfs_order_lane_slices(&o, l) > 0);
			for (m = 0; m < sfs_order_lane_slices(&o, l); m++, n_all++)
				CHECK(!seen[sfs_order_slice(&o, l, m).shard]++);
		}
		CHECK_EQ(n_all, n);
		sfs_order_done(&o);
	}
}

/* The lanes of a share are those of the whole, each with its shards and its shuffle. */
static void shares_are_lanes(void)
{
	struct sfs_rng r = {11};
	uint32_t l, m, k, step, first, a[20], b[20], n_all;
	uint64_t sizes[100];
	struct sfs_order whole, part;
	int round;

	for (round = 0; round < 200; round++) {
		const struct sfs_order_settings settings = {
			.seed = 3,
			.lanes = 1 + (uint32_t)sfs_rng_below(&r, 40),
			.buffer_bytes = 100000};
		uint32_t n = 1 + (uint32_t)sfs_rng_below(&r, 100);

		for (k = 0; k < n; k++)
			sizes[k] = sfs_rng_below(&r, 1 << 20);
		sfs_order_init(&whole, &settings, 1, sizes, n,
			       (struct sfs_share){0, 1, 1});
		step = 1 + (uint32_t)sfs_rng_below(&r, 50);
		for (first = 0, n_all = 0; first < step; first++) {
			sfs_order_init(&part, &settings, 1, sizes, n,
				       (struct sfs_share){first, step, 1});
			CHECK_EQ(part.piece_bytes, whole.piece_bytes);
			for (k = 0, l = first; l < whole.n_lanes; k++, l += step) {
				CHECK_EQ(sfs_order_lane_slices(&part, k),
					 sfs_order_lane_slices(&whole, l));
				for (m = 0; m < sfs_order_lane_slices(&part, k); m++) {
					CHECK_EQ(sfs_order_slice(&part, k, m).shard,
						 sfs_order_slice(&whole, l, m).shard);
					CHECK_EQ(sfs_order_base(&part, k, m),
						 sfs_order_base(&whole, l, m));
				}
				CHECK_EQ(sfs_order_base(&part, k, m),
					 sfs_order_base(&whole, l, m));
				CHECK_EQ(part.paces[k].half, whole.paces[l].half);
				sfs_order_block(&part, k, 4, a, 20);
				sfs_order_block(&whole, l, 4, b, 20);
				CHECK(memcmp(a, b, sizeof a) == 0);
			}
			CHECK_EQ(part.n_lanes, k);
			n_all += (uint32_t)sfs_order_slices(&part);
			sfs_order_done(&part);
		}
		CHECK_EQ(n_all, n);
		sfs_order_done(&whole);
	}
}

/* Each place lies in the one piece whose start and end are around it. */
static void each_place_once(void)
{
	static const uint64_t buffers[] = {0,	 1,	511,	 513,	    1000,
					   8192, 12345, 1 << 20, 1ULL << 40};
	struct sfs_rng r = {10};
	uint64_t place, piece, k;
	struct sfs_order o;
	size_t i, round;

	for (i = 0; i < SFS_COUNT(buffers); i++) {
		init(&o, 1, 1, 5, 3, buffers[i]);
		CHECK(o.piece_bytes == (buffers[i] / 3 > 512 ? buffers[i] / 3 : 512));
		CHECK_EQ(sfs_order_piece_start(&o, 0), 0);
		for (k = 0; k < 20; k++) {
			CHECK(sfs_order_piece_start(&o, k) < sfs_order_piece_end(&o, k));
			CHECK_EQ(sfs_order_piece_start(&o, k + 1),
				 sfs_order_piece_end(&o, k));
			CHECK_EQ(sfs_order_piece(&o, sfs_order_piece_start(&o, k)), k);
			CHECK_EQ(sfs_order_piece(&o, sfs_order_piece_end(&o, k) - 1), k);
		}
		for (round = 0; round < 1000; round++) {
			place = sfs_rng_below(&r, 1ULL << sfs_rng_below(&r, 44));
			piece = sfs_order_piece(&o, place);
			CHECK(place >= sfs_order_piece_start(&o, piece));
			CHECK(place < sfs_order_piece_end(&o, piece));
		}
		sfs_order_done(&o);
	}
}

/* As docs/ORDER.md says it, in bytes. */
static uint64_t slow_time(const struct sfs_order *o, uint32_t lane, uint64_t v)
{
	unsigned __int128 three_z = (unsigned __int128)3 * o->paces[lane].n_bytes;
	unsigned __int128 h = o->paces[lane].half, twice_v = (unsigned __int128)2 * v;

	return (uint64_t)(twice_v < three_z
				  ? twice_v * h / three_z
				  : h + (twice_v - three_z) * ((1ULL << 32) - h) /
						    three_z);
}

/* Times rise from 0 to below 2^32 as V rises, and v_at() finds the first V of a time;
 * from lanes of one block to the most that there may be. */
static void times_rise(const struct sfs_order *o, uint32_t lane, struct sfs_rng *r)
{
	uint64_t all_v = 3 * (o->paces[lane].n_bytes / 512), v, time;
	int k;

	CHECK(o->paces[lane].half >= 1u << 30 && o->paces[lane].half < 3u << 30);
	CHECK_EQ(sfs_order_time(o, lane, 0), 0);
	CHECK(sfs_order_time(o, lane, 512 * (all_v - 1)) < SFS_TIMES);
	CHECK_EQ(sfs_order_v_at(o, lane, 0), 0);
	CHECK_EQ(sfs_order_v_at(o, lane, SFS_TIMES), 512 * all_v);
	for (k = 0; k < 200; k++) {
		v = 512 * sfs_rng_below(r, all_v);
		CHECK_EQ(sfs_order_time(o, lane, v), slow_time(o, lane, v));
		CHECK(sfs_order_time(o, lane, v) <= sfs_order_time(o, lane, v + 512));
		time = k == 0 ? o->paces[lane].half : 1 + sfs_rng_below(r, SFS_TIMES);
		v = sfs_order_v_at(o, lane, time);
		CHECK(sfs_order_time(o, lane, v) >= time);
		CHECK(sfs_order_time(o, lane, v - 512) < time);
		v = 512 * sfs_rng_below(r, all_v / 3);
		CHECK_EQ(sfs_order_due(o, lane, v), sfs_order_time(o, lane, 3 * v));
	}
}

static void times(void)
{
	static const uint64_t sizes[] = {1, 512, 5000, 1 << 20, 1ULL << 33, 1ULL << 40};
	const struct sfs_order_settings settings = {.seed = 5, .lanes = 2};
	uint64_t *all_sizes = sfs_calloc(65536, sizeof *all_sizes), size;
	struct sfs_rng r = {12};
	struct sfs_order o;
	uint32_t i, n;
	size_t k;

	for (k = 0; k < SFS_COUNT(sizes); k++) {
		for (n = 1; n <= 65536; n *= n == 1 ? 7 : 97) {
			for (i = 0, size = 0; i < n; i++) {
				all_sizes[i] = i % 3 && i < 7 ? 0 : sizes[k];
				size += (all_sizes[i] + 511) / 512 * 512;
			}
			sfs_order_init(&o, &settings, 0, all_sizes, n, all);
			for (i = 0; i < o.n_lanes; i++) {
				size -= o.paces[i].n_bytes;
				if (o.paces[i].n_bytes > 0)
					times_rise(&o, i, &r);
			}
			CHECK_EQ(size, 0);
			sfs_order_done(&o);
		}
	}

	/* 65,536 shards of 1 TiB in one lane; and shards that are all missing. */
	for (i = 0; i < 65536; i++)
		all_sizes[i] = 1ULL << 40;
	sfs_order_init(&o, &(struct sfs_order_settings){.lanes = 1}, 0, all_sizes, 65536,
		       all);
	CHECK_EQ(o.paces[0].n_bytes, 1ULL << 56);
	CHECK_EQ(sfs_order_base(&o, 0, 65535), 65535ULL << 40);
	times_rise(&o, 0, &r);
	sfs_order_done(&o);
	memset(all_sizes, 0, 65536 * sizeof *all_sizes);
	sfs_order_init(&o, &settings, 0, all_sizes, 5, all);
	CHECK_EQ(o.paces[1].n_bytes, 0);
	CHECK_EQ(sfs_order_time(&o, 1, 0), 0);
	CHECK_EQ(sfs_order_due(&o, 1, 0), 0);
	CHECK_EQ(sfs_order_v_at(&o, 1, 1), 0);
	sfs_order_done(&o);
	free(all_sizes);
}

/* Another seed, epoch, lane or piece: another order; the same ones: the same. */
static void names_matter(void)
{
	uint32_t a[50], b[50];
	struct sfs_order o, p;
	int i;

	for (i = 0; i < 4; i++) {
		init(&o, 5, 6, 50, 4, 1 << 20);
		init(&p, 5 + (i == 1), 6 + (i == 2), 50, 4, 1 << 20);
		CHECK_EQ(memcmp(o.slices, p.slices, 50 * sizeof *o.slices) == 0,
			 i == 0 || i == 3);
		CHECK_EQ(o.paces[1].half == p.paces[1].half, i == 0 || i == 3);
		CHECK(o.paces[1].half != o.paces[2].half);
		sfs_order_block(&o, 1, 2, a, 50);
		sfs_order_block(&p, 1 + (i == 3), 2, b, 50);
		CHECK_EQ(memcmp(a, b, sizeof a) == 0, i == 0);
		sfs_order_block(&p, 1, 3, b, 50);
		CHECK(memcmp(a, b, sizeof a) != 0);
		sfs_order_done(&o);
		sfs_order_done(&p);
	}
}

int main(void)
{
	vectors();
	example();
	each_shard_once();
	shares_are_lanes();
	each_place_once();
	times();
	names_matter();
	return 0;
}
