/* SPDX-License-Identifier: MIT */
#include "cli/plan-estimate.h"

#include "base/alloc.h"
#include "engine/engine.h"
#include "order/iterate.h"
#include "order/locate.h"
#include "order/partition.h"
#include "stream/prefetch/sizing.h"

#define N_PLAYED 2000000 /* samples at all places; orders twice as long are sampled */

static const struct sfs_share everything = {.first = 0, .step = 1, .n_ranks = 1};

static bool totals_of(void *ctx, uint32_t shard, uint64_t *ret_n, uint64_t *ret_bytes)
{
	const struct sfs_plan_dataset *d = ctx;
	const struct sfs_sample_table *table = &d->tables[shard];

	*ret_n = sfs_sample_table_n(table);
	*ret_bytes = sfs_sample_table_place(table, *ret_n);
	return true;
}

bool sfs_plan_is_sampled(const struct sfs_plan_dataset *d, uint64_t n)
{
	uint64_t least = 4ULL * SFS_PLAN_PLACES * d->batch;

	return !d->is_exact && n > 2 * N_PLAYED && n > least;
}

/* Play n samples. */
static void play_some(struct sfs_iterator *play, uint64_t n, struct sfs_quality_run *run)
{
	const struct sfs_block_sample *s;

	for (; n > 0 && (s = sfs_iterator_next(play)) != NULL; n--)
		sfs_quality_add(run, s->shard);
}

/* Play some batches at evenly spaced places of the order, starting with the
 * first; after the last place, play to the end: there lanes end, so the last
 * batches have few shards. */
static void play_places(struct sfs_plan_dataset *d, struct sfs_locator *locator,
			uint64_t n_samples, struct sfs_iterator *play,
			struct sfs_quality_run *run)
{
	uint64_t n = N_PLAYED / SFS_PLAN_PLACES / d->batch * d->batch;
	struct sfs_spot at;
	uint32_t shard;
	uint64_t i;

	n = n > 0 ? n : d->batch;
	for (i = 0; i < SFS_PLAN_PLACES; i++) {
		sfs_locator_nth(locator, i * n_samples / SFS_PLAN_PLACES, &at, &shard);
		sfs_iterator_seek(play, locator, at.time);
		play_some(play, i + 1 < SFS_PLAN_PLACES ? n : UINT64_MAX, run);
	}
	n /= d->batch;
	sfs_quality_fold(run, (SFS_PLAN_PLACES - 1) * n, n);
}

/* Judge a part of an epoch. */
static void judge(struct sfs_plan_dataset *d, const struct sfs_order *order,
		  struct sfs_quality *ret_quality)
{
	const struct sfs_sample_tables tables = sfs_plan_tables(d);
	struct sfs_quality_run run;
	struct sfs_spot end;
	struct sfs_iterator play;
	struct sfs_locator locator;
	uint32_t shard;
	uint64_t n = 0;

	sfs_iterator_init(&play, order, &tables);
	sfs_locator_init(&locator, order, &tables, totals_of);
	sfs_locator_nth(&locator, UINT64_MAX, &end, &shard);
	sfs_locator_number(&locator, &end, &n, &shard);
	sfs_quality_begin(&run, d->batch, d->n_shards, d->n_samples);
	if (sfs_plan_is_sampled(d, n))
		play_places(d, &locator, n, &play, &run);
	else
		play_some(&play, n, &run);
	sfs_quality_end(&run, ret_quality);
	sfs_locator_done(&locator);
	sfs_iterator_done(&play);
}

uint64_t sfs_plan_most_lanes(struct sfs_plan_dataset *d,
			     const struct sfs_order_settings *settings)
{
	const struct sfs_sample_tables tables = sfs_plan_tables(d);

	if (sfs_order_wants_equal_lanes(settings))
		return d->n_all;
	return sfs_partition_dealt(settings, d->n_shards, &tables).n;
}

struct sfs_plan_estimate sfs_plan_cost(struct sfs_plan_dataset *d,
				       const struct sfs_order_settings *settings)
{
	const struct sfs_runtime *runtime = &d->engine->runtime;
	struct sfs_netpath path = sfs_runtime_path(runtime);
	struct sfs_plan_estimate e = {.settings = *settings};
	uint64_t most = sfs_plan_most_lanes(d, settings);

	e.n_lanes = most < settings->lanes ? (uint32_t)most : settings->lanes;
	e.part_bytes = sfs_sizing_part(&path, runtime->budget.limit_bytes, e.n_lanes);
	if (settings->segment == SFS_SEGMENT_SAMPLE)
		e.memory_bytes = 2 * sfs_sizing_chunk(runtime->budget.total_bytes);
	else
		e.memory_bytes = sfs_sizing_stream(&path, e.n_lanes,
						   settings->buffer_bytes / e.n_lanes,
						   e.part_bytes);
	if (e.memory_bytes > runtime->budget.total_bytes)
		e.memory_bytes = runtime->budget.total_bytes;
	return e;
}

void sfs_plan_judge(struct sfs_plan_dataset *d, struct sfs_plan_estimate *e)
{
	const struct sfs_sample_tables tables = sfs_plan_tables(d);
	struct sfs_order order;

	sfs_partition(&order, &e->settings, 0, d->n_shards, &tables, everything);
	e->n_slices = e->settings.segment == SFS_SEGMENT_SAMPLE
			      ? d->n_all
			      : sfs_order_slices(&order);
	judge(d, &order, &e->quality);
	sfs_order_done(&order);
}

static void judge_rank(struct sfs_plan_dataset *d, struct sfs_plan_estimate *e)
{
	const struct sfs_share share = {.step = d->n_ranks, .n_ranks = d->n_ranks};
	const struct sfs_sample_tables tables = sfs_plan_tables(d);
	struct sfs_order order;

	sfs_partition(&order, &e->settings, 0, d->n_shards, &tables, share);
	judge(d, &order, &e->rank);
	sfs_order_done(&order);
}

void sfs_plan_compare(struct sfs_plan_dataset *d, struct sfs_plan_estimate *e,
		      uint32_t n_epochs)
{
	if (d->n_ranks > 0)
		judge_rank(d, e);
	if (n_epochs > 0)
		e->lifts = sfs_plan_lift(d, &e->settings, n_epochs);
}
