/* SPDX-License-Identifier: MIT */
/* order-table - what orders are worth, for datasets of some shapes: how docs/training.md's
 * and README.md's tables of few shards were made.
 *
 *   order-table [SEGMENT...]     shard, random, sample, or a size in MiB; default: the first two
 *
 * Eleven epochs of the real order of each dataset are played, all other settings as by
 * default: samples are extents in tables, so nothing is read.  Batches have 256 samples.
 * For each dataset and order a line: what a batch is worth if each shard is a class, in
 * the whole epoch and in its worst tenth, and if the samples lie in the dataset by their
 * class, 1,000 of these; the lift of the next epoch, and the most of ten; the correlation
 * of a sample's positions in neighbouring epochs; of the first and the last 1 % of an
 * epoch, how many samples come from the first or last tenth of their shard; and of rank 0
 * of 8, what its batches are worth, by class, and its lift. */
#include "base/alloc.h"
#include "order/iterate.h"
#include "order/partition.h"
#include "order/quality.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define BATCH	  256
#define N_EPOCHS  11
#define N_CLASSES 1000
#define MIB	  ((uint64_t)1 << 20)

static struct {
	const char *name;
	uint32_t n_shards;
	uint64_t *sizes, *n_samples, *base, n;
	struct sfs_sample_table *tables;
} set;

static const struct sfs_sample_table *table_of(void *ctx, uint32_t shard)
{
	return &set.tables[shard];
}

static uint64_t size_of(void *ctx, uint32_t shard)
{
	return set.sizes[shard];
}

static const struct sfs_sample_tables tables = {NULL, table_of, size_of};

/* ---- datasets ---- */

enum shape { EQUAL, LOGNORMAL, ZIPF };

static double normal(struct sfs_rng *r)
{
	double sum = -6;
	int i;

	for (i = 0; i < 12; i++)
		sum += (double)(sfs_rng_next(r) >> 11) / 9007199254740992.0;
	return sum;
}

static void make(const char *name, uint32_t n_shards, uint64_t per_shard, enum shape shape,
		 uint64_t sample_bytes)
{
	double *weights = sfs_calloc(n_shards, sizeof *weights), sum = 0;
	uint64_t k, all = per_shard * n_shards;
	struct sfs_rng r = {3};
	uint32_t i;

	set.name = name;
	set.n_shards = n_shards;
	set.sizes = sfs_calloc(n_shards, sizeof *set.sizes);
	set.n_samples = sfs_calloc(n_shards, sizeof *set.n_samples);
	set.base = sfs_calloc(n_shards, sizeof *set.base);
	set.tables = sfs_calloc(n_shards, sizeof *set.tables);
	set.n = 0;
	for (i = 0; i < n_shards; i++)
		sum += weights[i] = shape == EQUAL ? 1
				    : shape == ZIPF ? 1.0 / (i + 1)
						    : exp(normal(&r));
	for (i = 0; i < n_shards; i++) {
		uint64_t n = (uint64_t)((double)all * weights[i] / sum), at = 0;

		n = n > 0 ? n : 1;
		set.base[i] = set.n;
		set.n_samples[i] = n;
		set.n += n;
		for (k = 0; k < n; k++, at += sample_bytes)
			sfs_sample_table_add(&set.tables[i], &(struct sfs_extent){
								     at, sample_bytes, 0, false});
		sfs_sample_table_end(&set.tables[i], SFS_SAMPLE_TABLE_WHOLE);
		set.sizes[i] = at + 1024;
	}
	free(weights);
}

static void unmake(void)
{
	uint32_t i;

	for (i = 0; i < set.n_shards; i++)
		sfs_sample_table_done(&set.tables[i]);
	free(set.sizes);
	free(set.n_samples);
	free(set.base);
	free(set.tables);
}

/* ---- epochs ---- */

struct epoch {
	uint32_t *batches;   /* of each sample; SFS_NO_BATCH: not in a whole one */
	uint32_t *positions; /* of each sample */
	struct sfs_quality by_shard, by_class;
	double first, last; /* from the first and the last tenth of their shards */
};

static uint32_t class_of(uint64_t sample)
{
	return (uint32_t)(sample * N_CLASSES / set.n);
}

static bool is_in_tenth(uint64_t index, uint32_t shard, bool is_last)
{
	uint64_t n = set.n_samples[shard];

	index = is_last ? n - 1 - index : index;
	return index * 10 < n;
}

static struct epoch play(const struct sfs_order_settings *settings, uint64_t epoch,
			 struct sfs_share share)
{
	struct epoch e = {.batches = sfs_calloc(set.n, sizeof *e.batches),
			  .positions = sfs_calloc(set.n, sizeof *e.positions)};
	uint64_t *of_class = sfs_calloc(N_CLASSES, sizeof *of_class), k, i,
		 percent = set.n / 100, n_first = 0, n_last = 0;
	struct sfs_quality_run by_shard, by_class;
	const struct sfs_block_sample *s;
	struct sfs_iterator it;
	struct sfs_order order;

	for (i = 0; i < set.n; i++) {
		of_class[class_of(i)]++;
		e.batches[i] = SFS_NO_BATCH;
	}
	sfs_quality_begin(&by_shard, BATCH, set.n_shards, set.n_samples);
	sfs_quality_begin(&by_class, BATCH, N_CLASSES, of_class);
	sfs_partition(&order, settings, epoch, set.n_shards, &tables, share);
	sfs_partition_sum(&order, &tables);
	sfs_iterator_init(&it, &order, &tables);
	for (k = 0; (s = sfs_iterator_next(&it)) != NULL; k++) {
		i = set.base[s->shard] + s->index;
		e.batches[i] = (uint32_t)(k / BATCH);
		e.positions[i] = (uint32_t)k;
		sfs_quality_add(&by_shard, s->shard);
		sfs_quality_add(&by_class, class_of(i));
		n_first += k < percent && is_in_tenth(s->index, s->shard, false);
		n_last += k >= set.n - percent && is_in_tenth(s->index, s->shard, true);
	}
	for (i = 0; i < set.n; i++)
		if (e.batches[i] == k / BATCH)
			e.batches[i] = SFS_NO_BATCH;
	sfs_quality_end(&by_shard, &e.by_shard);
	sfs_quality_end(&by_class, &e.by_class);
	e.first = (double)n_first / (double)percent;
	e.last = (double)n_last / (double)percent;
	sfs_iterator_done(&it);
	sfs_order_done(&order);
	free(of_class);
	return e;
}

static void epoch_done(struct epoch *e)
{
	free(e->batches);
	free(e->positions);
}

static double correlation(const struct epoch *a, const struct epoch *b)
{
	double n = (double)set.n, mean = (n - 1) / 2, sum = 0;
	uint64_t i;

	for (i = 0; i < set.n; i++)
		sum += ((double)a->positions[i] - mean) * ((double)b->positions[i] - mean);
	return sum / (n * (n * n - 1) / 12);
}

static double lift(const struct epoch *a, const struct epoch *b)
{
	return sfs_quality_lift(a->batches, b->batches, set.n, BATCH);
}

static void judge(const char *segment, const struct sfs_order_settings *settings)
{
	static const struct sfs_share everything = {0, 1, 1}, rank = {0, 8, 8};
	struct epoch e[N_EPOCHS], ranks[2];
	double most = 0, now, corr = 0;
	int i;

	for (i = 0; i < N_EPOCHS; i++)
		e[i] = play(settings, (uint64_t)i, everything);
	for (i = 1; i < N_EPOCHS; i++) {
		now = lift(&e[0], &e[i]);
		most = now > most ? now : most;
		now = fabs(correlation(&e[i - 1], &e[i]));
		corr = now > corr ? now : corr;
	}
	ranks[0] = play(settings, 0, rank);
	ranks[1] = play(settings, 1, rank);
	printf("%-24s %-8s %4.0f %4.0f  %4.0f %4.0f  %6.2f %6.2f  %.3f  %.2f %.2f  "
	       "%4.0f %4.0f %6.2f\n",
	       set.name, segment, e[0].by_shard.whole, e[0].by_shard.worst_tenth,
	       e[0].by_class.whole, e[0].by_class.worst_tenth, lift(&e[0], &e[1]), most,
	       corr, e[0].first, e[0].last, ranks[0].by_shard.whole,
	       ranks[0].by_class.whole, lift(&ranks[0], &ranks[1]));
	fflush(stdout);
	for (i = 0; i < N_EPOCHS; i++)
		epoch_done(&e[i]);
	epoch_done(&ranks[0]);
	epoch_done(&ranks[1]);
}

static uint64_t segment_of(const char *name)
{
	if (strcmp(name, "shard") == 0)
		return SFS_SEGMENT_SHARD;
	if (strcmp(name, "random") == 0)
		return SFS_SEGMENT_RANDOM;
	if (strcmp(name, "sample") == 0)
		return SFS_SEGMENT_SAMPLE;
	return strtoull(name, NULL, 10) * MIB;
}

int main(int argc, char **argv)
{
	static const char *const both[] = {"shard", "random"};
	static const struct {
		const char *name;
		uint32_t n_shards;
		uint64_t per_shard;
		enum shape shape;
		uint64_t sample_bytes;
	} shapes[] = {
		{"1 x 20,000", 1, 20000, EQUAL, 110592},
		{"2 x 20,000", 2, 20000, EQUAL, 110592},
		{"5 x 20,000", 5, 20000, EQUAL, 110592},
		{"20 x 1,000", 20, 1000, EQUAL, 110592},
		{"100 x 1,000", 100, 1000, EQUAL, 110592},
		{"100 x 1,000 lognormal", 100, 1000, LOGNORMAL, 110592},
		{"300 x 1,000", 300, 1000, EQUAL, 110592},
		{"1,000 x 1,000", 1000, 1000, EQUAL, 110592},
		{"1,000 x 1,000 lognormal", 1000, 1000, LOGNORMAL, 110592},
		{"1,000 x 1,000 Zipf", 1000, 1000, ZIPF, 110592},
		{"2,000 x 500", 2000, 500, EQUAL, 110592},
		{"10 x 50,000 of 2.5 KB", 10, 50000, EQUAL, 2560},
		{"20 x 1,000 of 5 MB", 20, 1000, EQUAL, 5000192},
		{"20 x 1,000 of 10 KB", 20, 1000, EQUAL, 10752},
	};
	struct sfs_order_settings settings = {.lanes = 384, .buffer_bytes = 64 * MIB};
	int n = argc > 1 ? argc - 1 : 2, i;
	size_t k;

	for (k = 0; k < SFS_COUNT(shapes); k++) {
		make(shapes[k].name, shapes[k].n_shards, shapes[k].per_shard,
		     shapes[k].shape, shapes[k].sample_bytes);
		for (i = 0; i < n; i++) {
			const char *name = argc > 1 ? argv[i + 1] : both[i];

			settings.segment = segment_of(name);
			judge(name, &settings);
		}
		unmake();
	}
	return 0;
}
