/* SPDX-License-Identifier: MIT */
#include "cli/plan-dataset.h"

#include "base/alloc.h"
#include "base/ledger.h"
#include "engine/engine.h"

#include <errno.h>

#define N_SCANNED 3
#define N_AHEAD	  32 /* scans in flight */

/* Take the table of a pinned shard, if it is whole.  Samples in an index are borrowed. */
static bool take_table(struct sfs_plan_dataset *d, uint32_t i)
{
	const struct sfs_sample_table *table =
		sfs_shard_table(&d->engine->runtime.shards.shards[i]);
	struct sfs_sample_table_sample s;
	uint64_t k, n;

	if (!table || sfs_sample_table_state(table) != SFS_SAMPLE_TABLE_WHOLE)
		return false;
	n = sfs_sample_table_n(table);
	d->is_pinned[i] = table->is_borrowed && n > 0;
	if (d->is_pinned[i]) {
		sfs_sample_table_borrow(&d->tables[i], table->chunks[0], n);
		return true;
	}
	for (k = 0; k < n; k++) {
		s = sfs_sample_table_get(table, k);
		sfs_sample_table_add(&d->tables[i],
				     &(struct sfs_extent){s.start, s.n_bytes, s.key_hash,
							  false});
	}
	sfs_sample_table_end(&d->tables[i], SFS_SAMPLE_TABLE_WHOLE);
	return true;
}

static int scan_shard(struct sfs_plan_dataset *d, uint32_t i, struct sfs_error *err)
{
	struct sfs_shards *shards = &d->engine->runtime.shards;
	struct sfs_shard *shard = &shards->shards[i];
	struct sfs_sync sync;
	int ret;

	sfs_shard_pin(shards, shard);
	sfs_sync_init(&sync);
	while ((ret = sfs_header_scan_table(&d->engine->scanner, shard, &sync.waiter)) ==
		       -EINPROGRESS &&
	       (ret = sfs_sync_wait(&sync)) == 0)
		;
	sfs_sync_done(&sync);
	if (ret == 0 && !take_table(d, i))
		ret = -EBADMSG;
	if (!d->is_pinned[i])
		sfs_shard_unpin(shards, shard);
	if (ret < 0) {
		sfs_ledger_why(shard->name, ret, err);
		return sfs_error_wrap(err, ret, "cannot read %s", shard->name);
	}
	d->n_counted++;
	return 0;
}

/* The mean size of a sample, by the counts that an index of the dataset says; 0: it does
 * not say all, or nonsense. */
static uint64_t said_mean(const struct sfs_plan_dataset *d)
{
	const struct sfs_shard *shards = d->engine->runtime.shards.shards;
	uint64_t n_bytes = 0, n_samples = 0, mean;
	uint32_t i;

	for (i = 0; i < d->n_shards; i++) {
		if (shards[i].said_samples > UINT32_MAX)
			return 0;
		n_samples += shards[i].said_samples;
		n_bytes += shards[i].object->size;
	}
	if (n_samples == 0)
		return 0;
	mean = n_bytes / n_samples / SFS_TAR_BLOCK * SFS_TAR_BLOCK;
	return mean < 2 * SFS_TAR_BLOCK ? 0 : mean;
}

/* Scan three shards, or all. */
static int scan_some(struct sfs_plan_dataset *d, uint64_t *ret_mean,
		     struct sfs_error *err)
{
	const uint32_t some[N_SCANNED] = {0, d->n_shards / 2, d->n_shards - 1};
	bool is_all = d->is_exact || d->n_shards <= N_SCANNED;
	struct sfs_shard *shards = d->engine->runtime.shards.shards;
	uint32_t i, k, n = is_all ? d->n_shards : N_SCANNED, ahead = 0;
	uint64_t n_bytes = 0, n_samples = 0;
	int ret;

	for (i = 0; i < n; i++) {
		for (; ahead < n && ahead < i + N_AHEAD; ahead++)
			sfs_header_scan_table(&d->engine->scanner,
					      &shards[is_all ? ahead : some[ahead]],
					      NULL);
		k = is_all ? i : some[i];
		ret = scan_shard(d, k, err);
		if (ret < 0)
			return ret;
		n_bytes += shards[k].object->size;
		n_samples += sfs_sample_table_n(&d->tables[k]);
	}
	if (n_samples == 0)
		return sfs_error_set(err, -ENODATA, "found no samples in %u shards", n);
	*ret_mean = said_mean(d);
	d->is_said = *ret_mean > 0;
	if (!d->is_said)
		*ret_mean = n_bytes / n_samples / SFS_TAR_BLOCK * SFS_TAR_BLOCK;
	return 0;
}

/* Shards that were not scanned have as many samples of the mean size as fit, so they can
 * borrow the same table, each as far as it needs. */
static void guess_tables(struct sfs_plan_dataset *d, uint64_t mean_bytes)
{
	const struct sfs_shard *shards = d->engine->runtime.shards.shards;
	uint64_t most = 0, at = 0, n;
	uint32_t i;

	for (i = 0; i < d->n_shards; i++)
		if (sfs_sample_table_state(&d->tables[i]) != SFS_SAMPLE_TABLE_WHOLE)
			most = shards[i].object->size > most ? shards[i].object->size
							     : most;
	for (at = 0; at + mean_bytes <= most; at += mean_bytes)
		sfs_sample_table_add(&d->guess,
				     &(struct sfs_extent){at, mean_bytes, 0, false});
	n = sfs_sample_table_n(&d->guess);
	d->guessed = sfs_reallocarray(NULL, n + 1, SFS_SAMPLE_TABLE_ENTRY_BYTES);
	sfs_sample_table_copy(&d->guess, n, d->guessed);
	for (i = 0; i < d->n_shards; i++)
		if (sfs_sample_table_state(&d->tables[i]) != SFS_SAMPLE_TABLE_WHOLE)
			sfs_sample_table_borrow(&d->tables[i], d->guessed,
						shards[i].object->size / mean_bytes);
}

static int make_tables(struct sfs_plan_dataset *d, struct sfs_error *err)
{
	uint64_t mean_bytes = 0;
	uint32_t i;
	int ret;

	ret = scan_some(d, &mean_bytes, err);
	if (ret < 0)
		return ret;
	guess_tables(d, mean_bytes);
	for (i = 0; i < d->n_shards; i++) {
		d->n_samples[i] = sfs_sample_table_n(&d->tables[i]);
		d->base[i] = d->n_all;
		d->n_all += d->n_samples[i];
		d->n_bytes += d->engine->runtime.shards.shards[i].object->size;
	}
	if (d->n_all >= UINT32_MAX)
		return sfs_error_set(err, -EOVERFLOW,
				     "the dataset has 2^32 samples or more, which is too "
				     "many for plan");
	return 0;
}

static const struct sfs_sample_table *table_of(void *ctx, uint32_t shard)
{
	struct sfs_plan_dataset *d = ctx;

	return &d->tables[shard];
}

static uint64_t size_of(void *ctx, uint32_t shard)
{
	const struct sfs_plan_dataset *d = ctx;

	return d->engine->runtime.shards.shards[shard].object->size;
}

struct sfs_sample_tables sfs_plan_tables(struct sfs_plan_dataset *d)
{
	return (struct sfs_sample_tables){.ctx = d, .get = table_of, .size = size_of};
}

int sfs_plan_dataset_load(struct sfs_plan_dataset *d, struct sfs_engine *engine,
			  struct sfs_error *err)
{
	int ret;

	d->engine = engine;
	d->n_shards = engine->runtime.shards.n;
	d->tables = sfs_calloc(d->n_shards, sizeof *d->tables);
	d->n_samples = sfs_calloc(d->n_shards, sizeof *d->n_samples);
	d->base = sfs_calloc(d->n_shards, sizeof *d->base);
	d->is_pinned = sfs_calloc(d->n_shards, sizeof *d->is_pinned);
	ret = sfs_engine_wait_for_sizes(engine, NULL, NULL, err);
	return ret < 0 ? ret : make_tables(d, err);
}

void sfs_plan_dataset_done(struct sfs_plan_dataset *d)
{
	struct sfs_shards *shards = &d->engine->runtime.shards;
	uint32_t i;

	for (i = 0; i < d->n_shards; i++) {
		sfs_sample_table_done(&d->tables[i]);
		if (d->is_pinned[i])
			sfs_shard_unpin(shards, &shards->shards[i]);
	}
	sfs_sample_table_done(&d->guess);
	free(d->guessed);
	free(d->is_pinned);
	free(d->tables);
	free(d->n_samples);
	free(d->base);
}
