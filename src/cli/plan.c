/* SPDX-License-Identifier: MIT */
#include "cli/plan.h"

#include "base/alloc.h"
#include "base/ledger.h"
#include "cli/plan-draw.h"
#include "cli/plan-estimate.h"
#include "cli/plan-report.h"
#include "engine/engine.h"
#include "order/partition.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

/* How large are its segments, as far as they are to be compared? */
static uint64_t length_of(uint64_t segment)
{
	switch (segment) {
	case SFS_SEGMENT_SHARD: return UINT64_MAX;
	case SFS_SEGMENT_RANDOM: return UINT64_MAX - 1;
	default: return segment; /* SFS_SEGMENT_SAMPLE is below any size */
	}
}

/* Less memory first; of the same memory, whole shards, because they need no index and the
 * fewest requests; then larger segments. */
static int by_cost(const void *a, const void *b)
{
	const struct sfs_plan_estimate *x = a, *y = b;
	uint64_t at_x = length_of(x->settings.segment),
		 at_y = length_of(y->settings.segment);

	if (x->memory_bytes != y->memory_bytes)
		return x->memory_bytes < y->memory_bytes ? -1 : 1;
	if (at_x != at_y)
		return at_x > at_y ? -1 : 1;
	return (x->settings.lanes > y->settings.lanes) -
	       (x->settings.lanes < y->settings.lanes);
}

/* The next multiple of the number of ranks. */
static uint32_t lanes_for(const struct sfs_plan_dataset *d, uint32_t lanes)
{
	uint32_t n_ranks = d->n_ranks > 0 ? d->n_ranks : 1;

	return (lanes + n_ranks - 1) / n_ranks * n_ranks;
}

/* Has each rank a lane in use? */
static bool has_lanes(struct sfs_plan_dataset *d,
		      const struct sfs_order_settings *settings)
{
	return sfs_plan_most_lanes(d, settings) >= d->n_ranks;
}

/* To be tried, unless the user has set one. */
static const uint64_t segments[] = {SFS_SEGMENT_SHARD, SFS_SEGMENT_RANDOM, 16ULL << 20,
				    1ULL << 20};

static uint64_t default_segment(void)
{
	struct sfs_options options = {0};
	uint64_t segment;

	sfs_options_init(&options);
	segment = options.segment;
	sfs_options_done(&options);
	return segment;
}

/* The cheapest settings that are good enough.  -ERANGE: there are none. */
static int find_cheapest(struct sfs_plan_dataset *d,
			 const struct sfs_plan_options *wanted,
			 struct sfs_plan_estimate *ret, struct sfs_error *err)
{
	static const uint32_t lanes[] = {6, 12, 24, 48, 96, 192, 384, 768, 1536};
	static const uint64_t buffers[] = {16ULL << 20, 64ULL << 20, 256ULL << 20,
					   1ULL << 30};
	enum { N = SFS_COUNT(lanes) * SFS_COUNT(buffers) };
	struct sfs_order_settings settings = d->engine->runtime.order;
	size_t n_segments =
		settings.segment == default_segment() ? SFS_COUNT(segments) : 1;
	struct sfs_plan_estimate all[N * SFS_COUNT(segments)],
		best = {.quality.whole = -1};
	size_t i, k, n = 0;

	for (i = 0; i < N * n_segments; i++) {
		k = i % SFS_COUNT(lanes);
		settings.lanes = lanes_for(d, lanes[k]);
		if (k > 0 && lanes_for(d, lanes[k - 1]) == settings.lanes)
			continue;
		settings.buffer_bytes =
			buffers[i / SFS_COUNT(lanes) % SFS_COUNT(buffers)];
		if (n_segments > 1)
			settings.segment = segments[i / N];
		if (has_lanes(d, &settings))
			all[n++] = sfs_plan_cost(d, &settings);
	}
	qsort(all, n, sizeof *all, by_cost);
	for (i = 0; i < n && best.quality.whole < wanted->quality; i++) {
		sfs_plan_judge(d, &all[i]);
		if (all[i].quality.whole > best.quality.whole)
			best = all[i];
	}
	*ret = best;
	if (best.quality.whole >= wanted->quality)
		return 0;
	return sfs_error_set(err, -ERANGE,
			     "no settings reach --quality=%g: the best is %.0f, with "
			     "lanes=%u; use more and smaller shards",
			     wanted->quality, best.quality.whole, best.settings.lanes);
}

/* ---- less lift ---- */

#define N_OTHERS_MAX 5

static bool is_high(const struct sfs_plan_lift *lift)
{
	return lift->next > 1.5;
}

static bool is_less(const struct sfs_plan_lift *lift, const struct sfs_plan_lift *now)
{
	return is_high(now) && lift->next < 0.8 * now->next;
}

/* One step from the settings towards less lift; false: there is none of this kind. */
static bool take_step(struct sfs_plan_dataset *d, struct sfs_order_settings *s, int kind)
{
	const struct sfs_order_settings now = *s;
	uint64_t most = sfs_plan_most_lanes(d, s);

	switch (kind) {
	case 0: s->lanes *= 4; return now.lanes < most && s->lanes <= SFS_LANES_MAX;
	case 1: s->buffer_bytes *= 4; return now.buffer_bytes < d->n_bytes;
	case 2: s->segment = SFS_SEGMENT_RANDOM; return now.segment == SFS_SEGMENT_SHARD;
	case 3:
		s->segment = 4 << 20;
		if (length_of(now.segment) <= s->segment)
			s->segment = now.segment / 16;
		return s->segment >= SFS_SEGMENT_SIZE_MIN;
	default:
		s->segment = SFS_SEGMENT_SAMPLE;
		return now.segment != SFS_SEGMENT_SAMPLE;
	}
}

/* Less of one lift, and not more of the other. */
static bool is_better(const struct sfs_plan_lifts *lifts,
		      const struct sfs_plan_lifts *now)
{
	if (is_less(&now->whole, &lifts->whole) || is_less(&now->rank, &lifts->rank))
		return false;
	return is_less(&lifts->whole, &now->whole) || is_less(&lifts->rank, &now->rank);
}

/* Measure what else could be mounted; keep what is better, and fits the budget. */
static size_t find_others(struct sfs_plan_dataset *d, const struct sfs_plan_estimate *e,
			  struct sfs_plan_estimate *ret)
{
	uint64_t budget = d->engine->runtime.budget.total_bytes;
	struct sfs_order_settings settings;
	size_t n = 0;
	int kind;

	if (!is_high(&e->lifts.whole) && !is_high(&e->lifts.rank))
		return 0;
	for (kind = 0; kind < N_OTHERS_MAX; kind++) {
		settings = e->settings;
		if (!take_step(d, &settings, kind))
			continue;
		ret[n] = sfs_plan_cost(d, &settings);
		if (ret[n].memory_bytes >= budget)
			continue;
		sfs_plan_judge(d, &ret[n]);
		sfs_plan_compare(d, &ret[n], 2);
		n += is_better(&ret[n].lifts, &e->lifts);
	}
	return n;
}

/* ---- the plan ---- */

static int check_ranks(struct sfs_plan_dataset *d,
		       const struct sfs_order_settings *settings, struct sfs_error *err)
{
	const struct sfs_name last = {.rank = d->n_ranks - 1, .n_ranks = d->n_ranks};
	const struct sfs_sample_tables tables = sfs_plan_tables(d);

	return sfs_name_check(&last, settings->lanes,
			      sfs_partition_dealt(settings, d->n_shards, &tables), err);
}

/* The settings as given, or the cheapest that are good enough; judged. */
static int choose(struct sfs_plan_dataset *d, const struct sfs_plan_options *wanted,
		  struct sfs_plan_estimate *ret, struct sfs_error *err)
{
	const struct sfs_order_settings *given = &d->engine->runtime.order;
	int result;

	if (wanted->quality > 0)
		return find_cheapest(d, wanted, ret, err);
	result = check_ranks(d, given, err);
	if (result < 0)
		return result;
	*ret = sfs_plan_cost(d, given);
	sfs_plan_judge(d, ret);
	return 0;
}

static int make_plan(struct sfs_plan_dataset *d, const struct sfs_plan_options *wanted,
		     struct sfs_strbuf *text, struct sfs_error *err)
{
	struct sfs_plan_estimate e, others[N_OTHERS_MAX];
	size_t n_others;
	int ret;

	if (d->n_all < wanted->batch)
		return sfs_error_set(
			err, -EINVAL,
			"--batch=%u is larger than the dataset, which has %" PRIu64
			" sample%s",
			wanted->batch, d->n_all, d->n_all == 1 ? "" : "s");
	ret = choose(d, wanted, &e, err);
	if (ret < 0)
		return ret;
	sfs_plan_compare(d, &e, sfs_plan_lift_epochs(d));
	n_others = find_others(d, &e, others);
	sfs_plan_report(d, &e, others, n_others, text);
	return wanted->svg ? sfs_plan_draw(d, &e.settings, wanted->svg, err) : 0;
}

int sfs_plan(struct sfs_options *options, const struct sfs_strings *specs,
	     const struct sfs_plan_options *wanted, struct sfs_strbuf *text,
	     struct sfs_error *err)
{
	struct sfs_plan_dataset dataset = {.batch = wanted->batch,
					   .n_ranks = wanted->n_ranks,
					   .is_exact = wanted->is_exact};
	struct sfs_engine *engine;
	int ret;

	sfs_ledger_keep_errors();
	ret = sfs_engine_start(options, specs, false, &engine, err);
	if (ret < 0)
		return ret;
	sfs_engine_warn_of_folders(engine);
	ret = sfs_plan_dataset_load(&dataset, engine, err);
	if (ret == 0)
		ret = make_plan(&dataset, wanted, text, err);
	sfs_plan_dataset_done(&dataset);
	sfs_engine_stop(engine);
	sfs_engine_free(engine);
	return ret;
}
