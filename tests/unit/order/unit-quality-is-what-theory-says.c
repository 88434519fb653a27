/* SPDX-License-Identifier: MIT */
/* B_eff is b for a permutation, 1 for batches of one shard, what the formulas say in
 * between; the worst tenth is found where it is; the lift is 1 for independent epochs. */
#include "base/alloc.h"
#include "base/rng.h"
#include "check.h"
#include "order/quality.h"

#define BATCH	 256
#define N_SHARDS 200
#define N_EACH	 512
#define N	 ((uint64_t)N_SHARDS * N_EACH)

static uint64_t sizes[N_SHARDS];
static uint32_t order[N];

static struct sfs_quality judge(uint32_t batch)
{
	struct sfs_quality_run run;
	struct sfs_quality q;
	uint64_t i;

	sfs_quality_begin(&run, batch, N_SHARDS, sizes);
	for (i = 0; i < N; i++)
		sfs_quality_add(&run, order[i]);
	sfs_quality_end(&run, &q);
	CHECK_EQ(q.n_samples, N);
	CHECK_EQ(q.n_batches, N / batch);
	return q;
}

static void in_order(void)
{
	uint64_t i;

	for (i = 0; i < N; i++)
		order[i] = (uint32_t)(i / N_EACH);
}

static void shuffled(uint64_t first, uint64_t n)
{
	struct sfs_rng r = {5};

	sfs_rng_shuffle(&r, order + first, n);
}

/* Batches that were looked at closely count as fewer of their mean. */
static void fold(void)
{
	struct sfs_quality_run run;
	struct sfs_quality q;
	uint32_t i;

	sfs_quality_begin(&run, 2, N_SHARDS, sizes);
	for (i = 0; i < 8; i++)
		sfs_quality_add(&run, i); /* four batches of two shards */
	for (i = 0; i < 16; i++)
		sfs_quality_add(&run, i < 8 ? 1 : i); /* four of one, four of two */
	sfs_quality_fold(&run, 4, 4);
	CHECK(run.batches[4].same == 0.5 && run.batches[7].n_shards == 1.5);
	sfs_quality_fold(&run, 4, 4); /* nothing is left to fold */
	sfs_quality_end(&run, &q);
	CHECK_EQ(q.n_batches, 8);
	CHECK_EQ(q.n_samples, 24);
	CHECK(q.n_shards == 1.75);
}

static void one_shard(void)
{
	struct sfs_quality q;

	in_order();
	q = judge(BATCH);
	CHECK(q.whole > 0.99 && q.whole < 1.01);
	CHECK(q.first > 0.99 && q.first < 1.01);
	CHECK(q.n_shards == 1);
}

static void permutation(void)
{
	struct sfs_quality q;

	in_order();
	shuffled(0, N);
	q = judge(BATCH);
	CHECK(q.whole > 0.97 * BATCH && q.whole <= BATCH);
	CHECK(q.worst_tenth > 0.9 * BATCH && q.worst_tenth <= BATCH);
	CHECK(q.first > 0.7 * BATCH);
	/* 200 (1 - (1 - 1/200)^256) */
	CHECK(q.n_shards > 143 && q.n_shards < 147);
}

/* Ten shards at a time, shuffled: P_same is (512 - 1) / (5120 - 1). */
static void ten_at_a_time(void)
{
	double same = 511.0 / 5119, chance = 511.0 / (N - 1), want;
	struct sfs_quality q;
	uint64_t i;

	in_order();
	for (i = 0; i < N; i += 10 * N_EACH)
		shuffled(i, 10 * N_EACH);
	q = judge(BATCH);
	want = BATCH / (1 + 255 * (same - chance) / (1 - chance));
	CHECK(q.whole > 0.98 * want && q.whole < 1.02 * want);
	CHECK(q.n_shards == 10);
}

/* A permutation but for the seventh tenth. */
static void a_bad_tenth(void)
{
	struct sfs_quality q;
	uint64_t i;

	in_order();
	shuffled(0, N);
	for (i = N / 10 * 6; i < N / 10 * 7; i++)
		order[i] = (uint32_t)(i / 1000);
	q = judge(BATCH);
	CHECK(q.worst_tenth < 2);
	CHECK(q.whole > 5 && q.whole < 15); /* 1 / (1/10) */
	CHECK(q.first > 0.7 * BATCH);
}

/* Each shard once in a round: better than chance is told as b. */
static void better(void)
{
	struct sfs_quality q;
	uint64_t i;

	for (i = 0; i < N; i++)
		order[i] = (uint32_t)(i % N_SHARDS);
	q = judge(128);
	CHECK(q.whole == 128 && q.first == 128 && q.worst_tenth == 128);
	CHECK(q.n_shards == 128);
}

static void little(void)
{
	struct sfs_quality_run run;
	struct sfs_quality q;
	uint64_t five = 5;
	int i;

	sfs_quality_begin(&run, BATCH, 1, &five);
	for (i = 0; i < 5; i++)
		sfs_quality_add(&run, 0);
	sfs_quality_end(&run, &q);
	CHECK(q.n_batches == 0 && q.whole == 0 && q.first == 0 && q.n_samples == 5);
}

/* ---- from epoch to epoch ---- */

static uint32_t before[N], after[N];

static void lift(void)
{
	struct sfs_rng r = {8};
	uint64_t i;
	double l;

	for (i = 0; i < N; i++)
		before[i] = after[i] = (uint32_t)(i / BATCH);
	/* The same batches again: all pairs, where chance is 255 / (N - 1). */
	l = sfs_quality_lift(before, after, N, BATCH);
	CHECK(l > 0.999 * (N - 1) / 255 && l < 1.001 * (N - 1) / 255);
	sfs_rng_shuffle(&r, after, N);
	l = sfs_quality_lift(before, after, N, BATCH);
	CHECK(l > 0.95 && l < 1.05);
	sfs_rng_shuffle(&r, before, N);
	l = sfs_quality_lift(before, after, N, BATCH);
	CHECK(l > 0.95 && l < 1.05);
	CHECK(sfs_quality_lift(before, after, 0, BATCH) == 0);
}

/* By hand: batches of two, of eight samples. */
static void lift_of_a_few(void)
{
	const uint32_t none = SFS_NO_BATCH;
	const uint32_t one[] = {0, 0, 1, 1, 2, 2, none, none};
	const uint32_t same[] = {2, 2, none, 1, 1, none, 0, 0};
	const uint32_t no[] = {none, none, none, none, none, none, none, none};
	const uint32_t apart[] = {0, 1, 0, 1, 2, none, 2, none};

	/* One pair of three met again, by 3 pairs of the 28 there are. */
	CHECK(sfs_quality_lift(one, same, 8, 2) > 3.11);
	CHECK(sfs_quality_lift(one, same, 8, 2) < 3.12);
	CHECK(sfs_quality_lift(same, one, 8, 2) > 3.11);
	CHECK(sfs_quality_lift(one, apart, 8, 2) == 0);
	CHECK(sfs_quality_lift(one, no, 8, 2) == 0);
	CHECK(sfs_quality_lift(no, one, 8, 2) == 0);
	CHECK(sfs_quality_lift(one, one, 8, 2) > 9.33);
	CHECK(sfs_quality_lift(one, one, 8, 2) < 9.34);
}

int main(void)
{
	int i;

	for (i = 0; i < N_SHARDS; i++)
		sizes[i] = N_EACH;
	fold();
	one_shard();
	permutation();
	ten_at_a_time();
	a_bad_tenth();
	better();
	little();
	lift();
	lift_of_a_few();
	return 0;
}
