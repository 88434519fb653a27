/* SPDX-License-Identifier: MIT */
/* From the sizes of shards alone: which default orders are worth little, as measured from
 * outside with the samples themselves; that segment=random always helps, and segment=4M
 * where shards are large. */
#include "base/alloc.h"
#include "check.h"
#include "order/worth.h"

#define MIB ((uint64_t)1 << 20)

static struct sfs_order_settings settings(uint64_t segment)
{
	return (struct sfs_order_settings){
		.lanes = 384, .buffer_bytes = 64 * MIB, .segment = segment};
}

static uint64_t sample_bytes; /* 0: unknown */

static bool judge(uint32_t n_shards, uint64_t bytes, uint64_t segment,
		  struct sfs_worth *ret)
{
	const struct sfs_order_settings s = settings(segment);
	sfs_autofree uint64_t *sizes = sfs_calloc(n_shards, sizeof *sizes);
	const struct sfs_worth_shards shards = {sizes, n_shards, sample_bytes};
	uint32_t i;

	for (i = 0; i < n_shards; i++)
		sizes[i] = bytes / 512 * 512;
	return sfs_worth_estimate(&s, &shards, ret);
}

/* Shards of 1,000 or 20,000 samples of 110 KB. */
static void measured(void)
{
	static const struct {
		uint32_t n_shards;
		uint64_t bytes;
		double worth_from, worth_to, lift_from, lift_to;
		bool is_low;
	} cases[] = {
		{1000, 110000000, 250, 256, 1.2, 2.3, false},
		{100, 110000000, 250, 256, 4.5, 9.2, true},
		{20, 110000000, 180, 256, 4.5, 7.5, true},
		{5, 2200000000, 60, 100, 15, 40, true},
	};
	struct sfs_worth w;
	size_t i;

	for (i = 0; i < SFS_COUNT(cases); i++) {
		CHECK(judge(cases[i].n_shards, cases[i].bytes, SFS_SEGMENT_SHARD, &w));
		if (w.worth < cases[i].worth_from || w.worth > cases[i].worth_to ||
		    w.lift < cases[i].lift_from || w.lift > cases[i].lift_to) {
			fprintf(stderr, "%u shards: worth %g, lift %g\n",
				cases[i].n_shards, w.worth, w.lift);
			exit(1);
		}
		CHECK_EQ(sfs_worth_is_low(&w), cases[i].is_low);
		CHECK(judge(cases[i].n_shards, cases[i].bytes, 4 * MIB, &w));
		CHECK(w.worth >= 200 && w.lift < 1.5 && !sfs_worth_is_low(&w));
		CHECK(judge(cases[i].n_shards, cases[i].bytes, SFS_SEGMENT_RANDOM, &w));
		CHECK(w.worth >= 200 && w.lift < 1.2 && !sfs_worth_is_low(&w));
	}
}

/* One shard has no other to be told from. */
static void one_shard(void)
{
	struct sfs_worth w;

	CHECK(judge(1, 2200000000, SFS_SEGMENT_SHARD, &w));
	CHECK(w.worth < 0 && w.lift > 10 && sfs_worth_is_low(&w));
	CHECK(judge(1, 2200000000, SFS_SEGMENT_SAMPLE, &w));
	CHECK(w.worth < 0 && w.lift < 1.2 && !sfs_worth_is_low(&w));
	CHECK(judge(1, 2200000000, SFS_SEGMENT_RANDOM, &w));
	CHECK(w.worth < 0 && w.lift < 1.2 && !sfs_worth_is_low(&w));
}

/* A few shards have nearly all. */
static void unequal(void)
{
	struct sfs_order_settings s = settings(SFS_SEGMENT_SHARD);
	uint64_t sizes[1000];
	const struct sfs_worth_shards shards = {sizes, SFS_COUNT(sizes), 0};
	struct sfs_worth w;
	size_t i;

	for (i = 0; i < SFS_COUNT(sizes); i++)
		sizes[i] = 20000000000 / (i + 1) / 512 * 512;
	CHECK(sfs_worth_estimate(&s, &shards, &w));
	CHECK(w.worth < 200 && sfs_worth_is_low(&w));
	s.segment = SFS_SEGMENT_RANDOM;
	CHECK(sfs_worth_estimate(&s, &shards, &w));
	CHECK(w.worth > 220 && w.lift < 1.2);
}

/* Too little for ten batches, or too many shards to be looked at beside a mount. */
static void unknown(void)
{
	struct sfs_worth w = {.worth = 7};

	CHECK(!judge(5, 200000, SFS_SEGMENT_SHARD, &w));
	CHECK(!judge(3, 0, SFS_SEGMENT_SHARD, &w));
	sample_bytes = 3000;
	CHECK(!judge(5, 511 * 3072, SFS_SEGMENT_SHARD, &w));
	CHECK(w.worth == 7);
	CHECK(judge(5, 512 * 3072, SFS_SEGMENT_SHARD, &w));
	sample_bytes = 0;
	w.worth = 7;
	CHECK(!judge(20000, 110000000, SFS_SEGMENT_SHARD, &w));
	CHECK(w.worth == 7);
	CHECK(judge(16384, 110000000, SFS_SEGMENT_SHARD, &w));
	CHECK(!sfs_worth_is_low(&w));
}

int main(void)
{
	measured();
	one_shard();
	unequal();
	unknown();
	return 0;
}
