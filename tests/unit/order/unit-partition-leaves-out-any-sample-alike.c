/* SPDX-License-Identifier: MIT */
/* What equal=drop leaves out, and what equal=pad repeats, is any sample with the
 * same chance, whatever its size and wherever it lies: chi-square over some
 * thousand epochs. */
#include "check.h"
#include "order/partition.h"

enum { N_SHARDS = 23, MOST = 40, N_RANKS = 8, N_LANES = 24, N_EPOCHS = 4000 };

static struct sfs_sample_table shards[N_SHARDS];
static uint64_t first[N_SHARDS + 1]; /* the number of a shard's first sample */
static unsigned n_times[N_SHARDS * MOST];

static const struct sfs_sample_table *get_table(void *ctx, uint32_t shard)
{
	(void)ctx;
	return &shards[shard];
}

static const struct sfs_sample_tables tables = {.get = get_table};

/* Most samples are small, some much larger than a piece. */
static uint64_t any_size(struct sfs_rng *r)
{
	return 512 * (1 + sfs_rng_below(r, sfs_rng_below(r, 5) ? 4 : 100));
}

static void make_shards(void)
{
	struct sfs_rng r = {17};
	struct sfs_extent e;
	uint32_t k;
	size_t i, n;

	for (k = 0; k < N_SHARDS; k++) {
		n = MOST / 2 + sfs_rng_below(&r, MOST / 2);
		e = (struct sfs_extent){0};
		for (i = 0; i < n; i++, e.start += e.n_bytes) {
			e.n_bytes = any_size(&r);
			sfs_sample_table_add(&shards[k], &e);
		}
		sfs_sample_table_end(&shards[k], SFS_SAMPLE_TABLE_WHOLE);
		first[k + 1] = first[k] + n;
	}
}

/* How often each sample is in the ranks' parts of an epoch. */
static void count(const struct sfs_order_settings *settings, uint64_t epoch)
{
	struct sfs_slice s;
	struct sfs_order o;
	uint32_t rank, l, m, i;

	memset(n_times, 0, sizeof n_times);
	for (rank = 0; rank < N_RANKS; rank++) {
		sfs_partition(&o, settings, epoch, N_SHARDS, &tables,
			      (struct sfs_share){rank, N_RANKS, N_RANKS});
		for (l = 0; l < o.n_lanes; l++)
			for (m = 0; m < sfs_order_lane_slices(&o, l); m++) {
				s = sfs_order_slice(&o, l, m);
				for (i = 0; i < s.n; i++)
					n_times[first[s.shard] + s.first + i]++;
			}
		sfs_order_done(&o);
	}
}

/* Chi-square by its degrees of freedom: 1 by chance, with a deviation of 0.05. */
static void check_chance(const unsigned *n, double all)
{
	double each = all / (double)first[N_SHARDS], sum = 0;
	uint64_t i;

	for (i = 0; i < first[N_SHARDS]; i++)
		sum += ((double)n[i] - each) * ((double)n[i] - each) / each;
	sum /= (double)first[N_SHARDS] - 1;
	CHECK(sum > 0.75 && sum < 1.25);
}

static void check_equal(uint64_t segment, enum sfs_equal equal)
{
	static unsigned n_odd[N_SHARDS * MOST];
	struct sfs_order_settings settings = {.seed = 5,
					      .lanes = N_LANES,
					      .buffer_bytes = 1 << 19,
					      .segment = segment,
					      .equal = equal};
	uint64_t n = first[N_SHARDS], epoch, i, positions, n_here;

	positions = sfs_order_positions(&settings, n, N_RANKS);
	CHECK(positions != n);
	memset(n_odd, 0, sizeof n_odd);
	for (epoch = 0; epoch < N_EPOCHS; epoch++) {
		count(&settings, epoch);
		for (i = n_here = 0; i < n; n_here += n_times[i++])
			n_odd[i] += n_times[i] != 1;
		CHECK_EQ(n_here, positions);
	}
	check_chance(n_odd,
		     N_EPOCHS * (double)(positions > n ? positions - n : n - positions));
}

int main(void)
{
	uint32_t k;

	make_shards();
	check_equal(SFS_SEGMENT_SHARD, SFS_EQUAL_DROP);
	check_equal(SFS_SEGMENT_SHARD, SFS_EQUAL_PAD);
	check_equal(10000, SFS_EQUAL_DROP);
	check_equal(10000, SFS_EQUAL_PAD);
	for (k = 0; k < N_SHARDS; k++)
		sfs_sample_table_done(&shards[k]);
	return 0;
}
