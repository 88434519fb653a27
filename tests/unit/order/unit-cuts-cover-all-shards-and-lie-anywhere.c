/* SPDX-License-Identifier: MIT */
/* Whatever the sizes of shards: there is a cut in each step, the segments between the cuts
 * are a ring of all bytes and as many in each epoch, and over many epochs a cut lies
 * anywhere in its step alike. */
#include "check.h"
#include "order/cuts.h"
#include "tar/header.h"

#define KIB	 ((uint64_t)1 << 10)
#define N_SHARDS 40

static struct sfs_rng named(uint64_t seed, uint64_t epoch)
{
	const uint64_t words[] = {seed, epoch};
	struct sfs_rng r;

	sfs_rng_init(&r, words, 2);
	return r;
}

static uint64_t sum(const uint64_t *sizes, uint32_t n)
{
	uint64_t total = 0;

	while (n-- > 0)
		total += sfs_tar_padded(sizes[n]);
	return total;
}

static uint64_t step_of(uint64_t total)
{
	uint64_t step = total / 1000 + (total % 1000 > 0);

	return sfs_tar_padded(step > 64 * KIB ? step : 64 * KIB);
}

/* Segments begin at cuts, one in each step, and are a ring of all bytes. */
static void check_ring(const struct sfs_cuts *cuts, const uint64_t *sizes,
		       uint32_t n_shards)
{
	uint64_t total = sum(sizes, n_shards), step = step_of(total), at = 0, first = 0,
		 begin, n_bytes = 0;
	const struct sfs_stretch *s;
	uint32_t i;
	size_t k;

	CHECK_EQ(cuts->n_segments, total / step + 1);
	CHECK_EQ(cuts->n_segments, sfs_cuts_count(sizes, n_shards));
	CHECK_EQ(cuts->starts[0], 0);
	for (i = 0; i < cuts->n_segments; i++) {
		CHECK(cuts->starts[i] <= cuts->starts[i + 1]);
		for (k = cuts->starts[i]; k < cuts->starts[i + 1]; k++) {
			s = &cuts->stretches[k];
			CHECK(s->shard < n_shards && s->begin < s->end);
			CHECK(s->begin % 512 == 0 && s->end % 512 == 0);
			CHECK(s->end <= sfs_tar_padded(sizes[s->shard]));
			begin = sum(sizes, s->shard) + s->begin;
			if (k == 0)
				first = at = begin;
			CHECK_EQ(begin, at == total ? 0 : at);
			if (k == cuts->starts[i] && begin > 0)
				CHECK_EQ(begin / step, i);
			at = begin + s->end - s->begin;
			n_bytes += s->end - s->begin;
		}
	}
	CHECK_EQ(n_bytes, total);
	CHECK(total == 0 || at == first || (at == total && first == 0));
}

static void check_sizes(const uint64_t *sizes, uint32_t n_shards)
{
	struct sfs_cuts cuts;
	uint64_t epoch;

	for (epoch = 0; epoch < 20; epoch++) {
		sfs_cuts_make(&cuts, named(7, epoch), sizes, n_shards);
		check_ring(&cuts, sizes, n_shards);
		sfs_cuts_done(&cuts);
	}
}

static void any_sizes(void)
{
	struct sfs_rng r = {37};
	uint64_t sizes[N_SHARDS];
	uint32_t n, i, round;

	for (round = 0; round < 300; round++) {
		n = 1 + (uint32_t)sfs_rng_below(&r, N_SHARDS);
		for (i = 0; i < n; i++)
			sizes[i] = sfs_rng_below(&r, 4) == 0
					   ? 0
					   : sfs_rng_below(&r, (uint64_t)1
								       << (10 + round % 31));
		check_sizes(sizes, n);
	}
	sizes[0] = (uint64_t)1 << 40;
	check_sizes(sizes, 1);
	sizes[0] = 0;
	check_sizes(sizes, 1);
}

/* Of 1 MiB, the second cut lies in one of 16 parts of its step. */
static void anywhere(void)
{
	enum { N = 16000, N_PARTS = 16 };
	const uint64_t size = 1024 * KIB;
	uint32_t counts[N_PARTS] = {0}, i;
	struct sfs_cuts cuts;
	uint64_t epoch;
	double chi = 0;

	for (epoch = 0; epoch < N; epoch++) {
		sfs_cuts_make(&cuts, named(1, epoch), &size, 1);
		counts[(cuts.stretches[cuts.starts[1]].begin - 64 * KIB) * N_PARTS /
		       (64 * KIB)]++;
		sfs_cuts_done(&cuts);
	}
	for (i = 0; i < N_PARTS; i++)
		chi += ((double)counts[i] - N / N_PARTS) *
		       ((double)counts[i] - N / N_PARTS) / (N / N_PARTS);
	CHECK(chi < 45); /* 15 degrees of freedom: chance is below 1 in 10,000 */
}

int main(void)
{
	any_sizes();
	anywhere();
	return 0;
}
