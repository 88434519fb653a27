/* SPDX-License-Identifier: MIT */
/* epochs - made-up shards, and their epoch by docs/ORDER.md the long way round, for
 * tests of what answers without playing it through. */
#ifndef SFS_TESTS_EPOCHS_H
#define SFS_TESTS_EPOCHS_H

#include "base/alloc.h"
#include "base/rng.h"
#include "check.h"
#include "order/block.h"
#include "order/partition.h"

#define MAX_SHARDS  40
#define MAX_SAMPLES 60

struct made_shard {
	struct sfs_extent extents[MAX_SAMPLES];
	size_t n;
	uint64_t n_bytes;	       /* the sum of the extents */
	uint64_t size;		       /* of the file */
	struct sfs_sample_table table; /* as far as it has grown */
	bool is_hidden;		       /* the table is not at hand */
	bool has_totals;
};

struct made_sample {
	uint32_t shard;
	size_t index; /* in the shard */
	uint64_t offset;
	uint64_t time;
};

static struct {
	struct sfs_order order;
	struct made_shard shards[MAX_SHARDS];
	uint32_t n_shards;
	struct made_sample lanes[MAX_SHARDS][MAX_SHARDS * MAX_SAMPLES];
	size_t n_lane[MAX_SHARDS];
	struct made_sample epoch[MAX_SHARDS * MAX_SAMPLES];
	uint32_t lane_of[MAX_SHARDS * MAX_SAMPLES];
	uint64_t number_of[MAX_SHARDS * MAX_SAMPLES]; /* in its lane */
	uint64_t seed;
	size_t n;
	uint64_t n_bytes;
} made;

/* The bytes of a dealt lane's shards before its m-th, or of all. */
static inline uint64_t made_base(uint32_t l, size_t m)
{
	uint64_t base = 0;

	while (m-- > 0)
		base += (made.shards[sfs_order_slice(&made.order, l, (uint32_t)m).shard]
				 .size +
			 511) /
			512 * 512;
	return base;
}

/* The time of sample i of a dealt lane's m-th shard, as docs/ORDER.md says it. */
static inline uint64_t made_time(uint32_t l, size_t m, size_t i)
{
	const struct made_shard *s =
		&made.shards[sfs_order_slice(&made.order, l, (uint32_t)m).shard];
	const uint64_t words[] = {made.seed, 3,
				  made.order.share.first + l * made.order.share.step, 0,
				  3};
	unsigned __int128 v = 3 * made_base(l, m), h,
			  z = made_base(l, sfs_order_lane_slices(&made.order, l));
	struct sfs_rng r;
	size_t k;

	if (z == 0)
		return 0; /* all are missing */
	sfs_rng_init(&r, words, 5);
	h = (1u << 30) + sfs_rng_below(&r, 1ULL << 31);
	for (k = 1; k <= 3 && k <= i; k++)
		v += s->extents[i - k].start + s->extents[i - k].n_bytes;
	return (uint64_t)(2 * v < 3 * z
				  ? 2 * v * h / (3 * z)
				  : h + (2 * v - 3 * z) * ((1ULL << 32) - h) / (3 * z));
}

/* The samples of a lane, piece after piece. */
static inline void make_lane(uint32_t l)
{
	static struct made_sample flat[MAX_SHARDS * MAX_SAMPLES];
	static uint64_t pieces[MAX_SHARDS * MAX_SAMPLES], times[MAX_SHARDS * MAX_SAMPLES];
	static uint32_t perm[MAX_SHARDS * MAX_SAMPLES];
	bool is_dealt = !made.order.has_equal_lanes;
	uint64_t place = 0;
	size_t n = 0, i, k, m;

	for (m = 0; m < sfs_order_lane_slices(&made.order, l); m++) {
		const struct sfs_slice slice = sfs_order_slice(&made.order, l, m);
		const struct made_shard *s = &made.shards[slice.shard];
		size_t end = slice.n == SFS_SLICE_ALL ? s->n : slice.first + slice.n;

		for (i = slice.first; i < end; i++, n++) {
			flat[n] = (struct made_sample){.shard = slice.shard, .index = i};
			times[n] = is_dealt ? made_time(l, m, i) : n;
			if (is_dealt)
				place = made_base(l, m) + s->extents[i].start;
			k = place / made.order.piece_bytes;
			while (place >= sfs_order_piece_end(&made.order, k))
				k++;
			pieces[n] = sfs_order_is_alone(&made.order, l, m) ? UINT64_MAX - m
									  : k;
			place += s->extents[i].n_bytes;
		}
	}
	for (i = 0; i < n; i += k) {
		for (k = 0; i + k < n && pieces[i + k] == pieces[i];)
			k++;
		sfs_order_block(&made.order, l, pieces[i], perm, k);
		for (m = 0; m < k; m++) {
			made.lanes[l][i + m] = flat[i + perm[m]];
			made.lanes[l][i + m].time = times[i + m];
		}
	}
	made.n_lane[l] = n;
}

static inline void make_shards(struct sfs_rng *r, uint32_t n_shards, size_t most_samples)
{
	uint64_t at;
	uint32_t k;
	size_t i;

	memset(&made, 0, sizeof made);
	made.n_shards = n_shards;
	for (k = 0; k < n_shards; k++) {
		struct made_shard *s = &made.shards[k];

		s->n = sfs_rng_below(r, most_samples + 1);
		for (i = 0, at = 0; i < s->n; i++) {
			at += 512 * sfs_rng_below(r, 2);
			s->extents[i] =
				(struct sfs_extent){at, 512 * (1 + sfs_rng_below(r, 20)),
						    sfs_rng_next(r),
						    sfs_rng_below(r, 5) == 0};
			at += s->extents[i].n_bytes;
			s->n_bytes += s->extents[i].n_bytes;
		}
		if (s->n > 0 || sfs_rng_below(r, 2))
			s->size = at + sfs_rng_below(r, 3000); /* else it is missing */
	}
}

/* From the order to the epoch (or part), the long way round. */
static inline void play_order(void)
{
	uint64_t total = 0, n[MAX_SHARDS] = {0};
	uint32_t l, next;

	for (l = 0; l < made.order.n_lanes; l++) {
		make_lane(l);
		total += made.n_lane[l];
	}
	for (; made.n < total; made.n++) {
		next = UINT32_MAX;
		for (l = 0; l < made.order.n_lanes; l++)
			if (n[l] < made.n_lane[l] &&
			    (next == UINT32_MAX ||
			     made.lanes[l][n[l]].time < made.lanes[next][n[next]].time))
				next = l;
		made.lanes[next][n[next]].offset = made.n_bytes;
		made.lane_of[made.n] = next;
		made.number_of[made.n] = n[next];
		made.epoch[made.n] = made.lanes[next][n[next]++];
		made.n_bytes += made.shards[made.epoch[made.n].shard]
					.extents[made.epoch[made.n].index]
					.n_bytes;
	}
}

static inline void deal_shards(const struct sfs_order_settings *settings,
			       struct sfs_share share)
{
	uint64_t sizes[MAX_SHARDS];
	uint32_t k;

	for (k = 0; k < made.n_shards; k++)
		sizes[k] = made.shards[k].size;
	made.seed = settings->seed;
	sfs_order_init(&made.order, settings, 3, sizes, made.n_shards, share);
	play_order();
}

/* Make shards and their epoch; the tables are empty. */
static inline void make_epoch(uint64_t seed, uint32_t n_shards, uint32_t n_lanes,
			      size_t most_samples, uint64_t buffer)
{
	const struct sfs_order_settings settings = {.seed = seed,
						    .lanes = n_lanes,
						    .buffer_bytes = buffer};
	const struct sfs_share all = {.step = 1, .n_ranks = 1};
	struct sfs_rng r = {seed};

	make_shards(&r, n_shards, most_samples);
	deal_shards(&settings, all);
}

/* Shards dealt to the lanes of any part, by the seed; the tables are empty. */
static inline void make_random_dealt_epoch(uint64_t seed)
{
	static const uint64_t buffers[] = {0, 5000, 100000, 1 << 20, 1 << 30};
	static const size_t most[] = {0, 1, 3, 20, MAX_SAMPLES};
	struct sfs_rng r = {~seed};
	const struct sfs_order_settings settings = {
		.seed = seed,
		.lanes = 1 + (uint32_t)sfs_rng_below(&r, MAX_SHARDS + 5),
		.buffer_bytes = buffers[sfs_rng_below(&r, SFS_COUNT(buffers))]};
	struct sfs_share share = {.step = 1 + sfs_rng_below(&r, 4), .n_ranks = 1};
	uint32_t k;

	share.first = sfs_rng_below(&r, share.step);
	make_shards(&r, 1 + (uint32_t)sfs_rng_below(&r, MAX_SHARDS),
		    most[sfs_rng_below(&r, SFS_COUNT(most))]);
	for (k = 0; k < made.n_shards && seed % 3 == 0; k++)
		made.shards[k].size += 1ULL << 46; /* many samples have one time */
	deal_shards(&settings, share);
}

static inline const struct sfs_extent *made_extent(const struct made_sample *s)
{
	return &made.shards[s->shard].extents[s->index];
}

/* One sample more, or the end. */
static inline void grow(uint32_t shard)
{
	struct made_shard *s = &made.shards[shard];
	uint64_t n = sfs_sample_table_n(&s->table);

	if (n < s->n) {
		sfs_sample_table_add(&s->table, &s->extents[n]);
	} else {
		sfs_sample_table_end(&s->table, SFS_SAMPLE_TABLE_WHOLE);
		s->has_totals = true;
	}
}

static inline bool is_whole(uint32_t shard)
{
	return sfs_sample_table_state(&made.shards[shard].table) ==
	       SFS_SAMPLE_TABLE_WHOLE;
}

static inline void grow_all(void)
{
	uint32_t k;

	for (k = 0; k < made.n_shards; k++)
		while (!is_whole(k))
			grow(k);
}

/* The tables are as they were before they grew. */
static inline void shrink_all(void)
{
	uint32_t k;

	for (k = 0; k < made.n_shards; k++) {
		sfs_sample_table_done(&made.shards[k].table);
		made.shards[k].is_hidden = made.shards[k].has_totals = false;
	}
}

static inline void unmake_epoch(void)
{
	shrink_all();
	sfs_order_done(&made.order);
}

static const struct sfs_sample_table *get_table(void *ctx, uint32_t shard)
{
	CHECK(shard < made.n_shards);
	return made.shards[shard].is_hidden ? NULL : &made.shards[shard].table;
}

static inline uint64_t get_size(void *ctx, uint32_t shard)
{
	return made.shards[shard].size;
}

static const struct sfs_sample_tables tables = {.get = get_table, .size = get_size};

/* Make shards and a part of their epoch, with equal lanes; the tables are whole. */
static inline void make_equal_epoch(const struct sfs_order_settings *settings,
				    struct sfs_share share, uint32_t n_shards,
				    size_t most_samples)
{
	struct sfs_rng r = {settings->seed};

	make_shards(&r, n_shards, most_samples);
	grow_all();
	sfs_partition(&made.order, settings, 3, n_shards, &tables, share);
	sfs_partition_sum(&made.order, &tables);
	play_order();
}

/* What somebody may set and ask for, so that lanes are equal: any of it, by the seed. */
struct made_settings {
	struct sfs_order_settings order;
	struct sfs_share share;
	uint32_t n_shards;
	size_t most_samples; /* of a shard */
};

static inline struct made_settings random_settings(uint64_t seed)
{
	static const uint32_t n_lanes[] = {1, 2, 3, 4, 6, 12, 24, 36};
	static const uint32_t shards[] = {1, 2, 5, 12, MAX_SHARDS};
	static const uint64_t sizes[] = {0, 1, 1, 512, 4096, 20000, 1 << 20};
	static const size_t most[] = {0, 1, 3, 20, MAX_SAMPLES};
	static const uint64_t buffers[] = {0, 5000, 100000, 1 << 20, 1 << 30};
	struct sfs_rng r = {~seed};
	struct made_settings m = {
		.order = {.seed = seed,
			  .lanes = n_lanes[sfs_rng_below(&r, SFS_COUNT(n_lanes))],
			  .buffer_bytes = buffers[sfs_rng_below(&r, SFS_COUNT(buffers))],
			  .segment = sizes[sfs_rng_below(&r, SFS_COUNT(sizes))],
			  .equal = (enum sfs_equal)sfs_rng_below(&r, 3)},
		.n_shards = shards[sfs_rng_below(&r, SFS_COUNT(shards))],
		.most_samples = most[sfs_rng_below(&r, SFS_COUNT(most))]};
	uint32_t n_ranks, n_workers;

	if (m.order.segment == SFS_SEGMENT_SHARD && m.order.equal == SFS_EQUAL_NONE)
		m.order.equal = SFS_EQUAL_PAD;
	do
		n_ranks = 1 + (uint32_t)sfs_rng_below(&r, m.order.lanes);
	while (m.order.lanes % n_ranks != 0);
	n_workers = sfs_rng_below(&r, 3) ? 1 : 1 + (uint32_t)sfs_rng_below(&r, 3);
	m.share = (struct sfs_share){.first = sfs_rng_below(&r, (uint64_t)n_ranks *
									n_workers),
				     .step = (uint64_t)n_ranks * n_workers,
				     .n_ranks = n_ranks};
	return m;
}

static inline void make_random_equal_epoch(uint64_t seed)
{
	const struct made_settings m = random_settings(seed);

	make_equal_epoch(&m.order, m.share, m.n_shards, m.most_samples);
}

/* Is this the block's sample that the long way round has found? */
static inline void check_sample(const struct sfs_block_sample *b,
				const struct made_sample *wanted)
{
	const struct sfs_extent *e = made_extent(wanted);

	CHECK_EQ(b->shard, wanted->shard);
	CHECK_EQ(b->start, e->start);
	CHECK_EQ(b->n_bytes, e->n_bytes);
	CHECK(b->key_hash == e->key_hash);
	CHECK_EQ(b->has_global, e->has_global);
}

#endif
