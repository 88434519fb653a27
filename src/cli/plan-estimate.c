/* SPDX-License-Identifier: MIT */
#include "cli/plan-estimate.h"

#include "base/alloc.h"
#include "engine/engine.h"
#include "order/iterate.h"
#include "order/locate.h"
#include "order/partition.h"
#include "stream/sizing.h"

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

/* Play some batches at evenly spaced places of the order, starting with the first; after
 * the last place, play to the end: there lanes end, so the last batches have few shards.
 */
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

/* Which batch of an epoch each sample is in. */
static void note_batches(struct sfs_plan_dataset *d,
			 const struct sfs_order_settings *settings, uint64_t epoch,
			 uint32_t *batches)
{
	const struct sfs_sample_tables tables = sfs_plan_tables(d);
	const struct sfs_block_sample *s;
	struct sfs_order order;
	struct sfs_iterator play;
	uint64_t k;

	sfs_partition(&order, settings, epoch, d->n_shards, &tables, everything);
	sfs_iterator_init(&play, &order, &tables);
	for (k = 0; (s = sfs_iterator_next(&play)) != NULL; k++)
		batches[d->base[s->shard] + s->index] = (uint32_t)(k / d->batch);
	sfs_iterator_done(&play);
	sfs_order_done(&order);
}

struct sfs_plan_estimate sfs_plan_cost(struct sfs_plan_dataset *d,
				       const struct sfs_order_settings *settings)
{
	const struct sfs_runtime *runtime = &d->engine->runtime;
	struct sfs_netpath path = sfs_runtime_path(runtime);
	struct sfs_plan_estimate e = {.settings = *settings};
	uint64_t most = sfs_order_wants_equal_lanes(settings) ? d->n_all : d->n_shards;

	e.n_lanes = most < settings->lanes ? (uint32_t)most : settings->lanes;
	e.part_bytes = sfs_sizing_part(&path, runtime->budget.limit_bytes, e.n_lanes);
	e.memory_bytes =
		sfs_sizing_stream(&path, e.n_lanes, settings->buffer_bytes / e.n_lanes,
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
	e->n_slices = sfs_order_slices(&order);
	e->n_even = order.has_equal_lanes ? order.n_samples : 0;
	judge(d, &order, &e->quality);
	sfs_order_done(&order);
}

double sfs_plan_lift(struct sfs_plan_dataset *d,
		     const struct sfs_order_settings *settings)
{
	sfs_autofree uint32_t *before = NULL, *after = NULL;

	before = sfs_reallocarray(NULL, d->n_all, sizeof *before);
	after = sfs_reallocarray(NULL, d->n_all, sizeof *after);
	note_batches(d, settings, 0, before);
	note_batches(d, settings, 1, after);
	return sfs_quality_lift(before, after, d->n_all, d->batch);
}

void sfs_plan_judge_rank(struct sfs_plan_dataset *d,
			 const struct sfs_order_settings *settings, uint32_t n_ranks,
			 struct sfs_quality *ret_quality)
{
	const struct sfs_share share = {.first = 0, .step = n_ranks, .n_ranks = n_ranks};
	const struct sfs_sample_tables tables = sfs_plan_tables(d);
	struct sfs_order order;

	sfs_partition(&order, settings, 0, d->n_shards, &tables, share);
	judge(d, &order, ret_quality);
	sfs_order_done(&order);
}
