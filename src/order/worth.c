/* SPDX-License-Identifier: MIT */
/* How this works: as in cli/plan-lift.c, each sample has an entry in two arrays of batch
 * numbers, one for each epoch.  All shards borrow one table, as far as they are long. */
#include "order/worth.h"

#include "base/alloc.h"
#include "order/iterate.h"
#include "order/partition.h"
#include "order/quality.h"

#include <stdlib.h>

#define N_PLAYED	 50000 /* samples of an epoch: some milliseconds */
#define N_PLAYED_A_SHARD 16    /* at least */
#define N_SHARDS_MAX	 16384
#define N_BATCHES_MIN	 10

#define LEAST_WORTH 200
#define MOST_LIFT   4

static const struct sfs_share everything = {.first = 0, .step = 1, .n_ranks = 1};

struct model {
	const struct sfs_order_settings *settings;
	const struct sfs_worth_shards *shards;
	uint64_t n_samples; /* in all shards */
	uint64_t *base;	    /* of each shard: samples of the shards before it */
	struct sfs_sample_table *tables, longest;
	void *entries; /* of the longest, which the others borrow */
};

static const struct sfs_sample_table *table_of(void *ctx, uint32_t shard)
{
	const struct model *m = ctx;

	return &m->tables[shard];
}

static uint64_t size_of(void *ctx, uint32_t shard)
{
	const struct model *m = ctx;

	return m->shards->sizes[shard];
}

static void model_init(struct model *m, uint64_t sample_bytes)
{
	uint64_t most = 0, at, n;
	uint32_t i;

	m->base = sfs_calloc((size_t)m->shards->n + 1, sizeof *m->base);
	m->tables = sfs_calloc(m->shards->n, sizeof *m->tables);
	for (i = 0; i < m->shards->n; i++)
		most = m->shards->sizes[i] > most ? m->shards->sizes[i] : most;
	for (at = 0; at + sample_bytes <= most; at += sample_bytes)
		sfs_sample_table_add(&m->longest,
				     &(struct sfs_extent){at, sample_bytes, 0, false});
	n = sfs_sample_table_n(&m->longest);
	m->entries = sfs_reallocarray(NULL, n + 1, SFS_SAMPLE_TABLE_ENTRY_BYTES);
	sfs_sample_table_copy(&m->longest, n, m->entries);
	for (i = 0; i < m->shards->n; i++) {
		sfs_sample_table_borrow(&m->tables[i], m->entries,
					m->shards->sizes[i] / sample_bytes);
		m->base[i] = m->n_samples;
		m->n_samples += m->shards->sizes[i] / sample_bytes;
	}
	m->base[m->shards->n] = m->n_samples;
}

static void model_done(struct model *m)
{
	uint32_t i;

	for (i = 0; i < m->shards->n; i++)
		sfs_sample_table_done(&m->tables[i]);
	sfs_sample_table_done(&m->longest);
	free(m->entries);
	free(m->tables);
	free(m->base);
}

/* Play an epoch: the batch of each sample, and how good batches are. */
static void play(struct model *m, uint64_t epoch, uint32_t *batches,
		 struct sfs_quality *ret_quality)
{
	const struct sfs_sample_tables tables = {m, table_of, size_of};
	sfs_autofree uint64_t *counts = sfs_calloc(m->shards->n, sizeof *counts);
	const struct sfs_block_sample *s;
	struct sfs_iterator iterator;
	struct sfs_quality_run run;
	struct sfs_order order;
	uint64_t k, n_whole = m->n_samples / SFS_WORTH_BATCH * SFS_WORTH_BATCH;
	uint32_t i;

	for (i = 0; i < m->shards->n; i++)
		counts[i] = m->base[i + 1] - m->base[i];
	sfs_partition(&order, m->settings, epoch, m->shards->n, &tables, everything);
	sfs_iterator_init(&iterator, &order, &tables);
	sfs_quality_begin(&run, SFS_WORTH_BATCH, m->shards->n, counts);
	for (k = 0; (s = sfs_iterator_next(&iterator)) != NULL; k++) {
		sfs_quality_add(&run, s->shard);
		batches[m->base[s->shard] + s->index] =
			k < n_whole ? (uint32_t)(k / SFS_WORTH_BATCH) : SFS_NO_BATCH;
	}
	sfs_quality_end(&run, ret_quality);
	sfs_iterator_done(&iterator);
	sfs_order_done(&order);
}

/* The size of the samples that are played; whole blocks. */
static uint64_t sample_bytes_of(const struct sfs_worth_shards *shards)
{
	uint64_t n_bytes = 0, n = N_PLAYED, ret;
	uint32_t i;

	for (i = 0; i < shards->n; i++)
		n_bytes += shards->sizes[i];
	if (n < (uint64_t)N_PLAYED_A_SHARD * shards->n)
		n = (uint64_t)N_PLAYED_A_SHARD * shards->n;
	ret = n_bytes / n / SFS_TAR_BLOCK * SFS_TAR_BLOCK;
	if (ret < shards->sample_bytes)
		ret = sfs_tar_padded(shards->sample_bytes);
	return ret > 0 ? ret : SFS_TAR_BLOCK;
}

static void judge(struct model *m, struct sfs_worth *ret)
{
	sfs_autofree uint32_t *before =
		sfs_reallocarray(NULL, m->n_samples, sizeof *before);
	sfs_autofree uint32_t *after =
		sfs_reallocarray(NULL, m->n_samples, sizeof *after);
	struct sfs_quality quality, later;

	play(m, 0, before, &quality);
	play(m, 1, after, &later);
	ret->worth = m->shards->n > 1 ? quality.whole : -1;
	ret->lift = sfs_quality_lift(before, after, m->n_samples, SFS_WORTH_BATCH);
}

bool sfs_worth_estimate(const struct sfs_order_settings *settings,
			const struct sfs_worth_shards *shards, struct sfs_worth *ret)
{
	struct model m = {.settings = settings, .shards = shards};
	bool is_known;

	if (shards->n > N_SHARDS_MAX)
		return false;
	model_init(&m, sample_bytes_of(shards));
	is_known = m.n_samples >= (uint64_t)N_BATCHES_MIN * SFS_WORTH_BATCH;
	if (is_known)
		judge(&m, ret);
	model_done(&m);
	return is_known;
}

bool sfs_worth_is_low(const struct sfs_worth *w)
{
	return (w->worth >= 0 && w->worth < LEAST_WORTH) || w->lift > MOST_LIFT;
}
