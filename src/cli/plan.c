/* SPDX-License-Identifier: MIT */
#include "cli/plan.h"

#include "base/alloc.h"
#include "base/ledger.h"
#include "cli/plan-draw.h"
#include "cli/plan-estimate.h"
#include "cli/plan-report.h"
#include "engine/engine.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

/* Less memory first; of the same memory, whole shards, because they need no index and the
 * fewest requests; then larger segments. */
static int by_cost(const void *a, const void *b)
{
	const struct sfs_plan_estimate *x = a, *y = b;
	uint64_t at_x = x->settings.segment - 1, at_y = y->settings.segment - 1;

	if (x->memory_bytes != y->memory_bytes)
		return x->memory_bytes < y->memory_bytes ? -1 : 1;
	if (at_x != at_y)
		return at_x > at_y ? -1 : 1; /* SFS_SEGMENT_SHARD is 0 */
	return (x->settings.lanes > y->settings.lanes) -
	       (x->settings.lanes < y->settings.lanes);
}

/* To be tried, unless the user has set one. */
static const uint64_t segments[] = {SFS_SEGMENT_SHARD, 16ULL << 20, 1ULL << 20};

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
		settings.segment == SFS_SEGMENT_SHARD ? SFS_COUNT(segments) : 1;
	struct sfs_plan_estimate all[N * SFS_COUNT(segments)],
		best = {.quality.whole = -1};
	size_t i, n = 0;

	for (i = 0; i < N * n_segments; i++) {
		settings.lanes = lanes[i % SFS_COUNT(lanes)];
		settings.buffer_bytes =
			buffers[i / SFS_COUNT(lanes) % SFS_COUNT(buffers)];
		if (n_segments > 1)
			settings.segment = segments[i / N];
		if (wanted->n_ranks == 0 || settings.lanes % wanted->n_ranks == 0)
			all[n++] = sfs_plan_cost(d, &settings);
	}
	if (n == 0)
		return sfs_error_set(
			err, -EINVAL,
			"--ranks=%u divides none of the lane counts that --quality tries",
			wanted->n_ranks);
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

static int make_plan(struct sfs_plan_dataset *d, const struct sfs_plan_options *wanted,
		     struct sfs_strbuf *text, struct sfs_error *err)
{
	struct sfs_plan_estimate e;
	int ret = 0;

	if (d->n_all < wanted->batch)
		return sfs_error_set(
			err, -EINVAL,
			"--batch=%u is larger than the dataset, which has %" PRIu64
			" samples",
			wanted->batch, d->n_all);
	if (wanted->quality > 0) {
		ret = find_cheapest(d, wanted, &e, err);
	} else {
		e = sfs_plan_cost(d, &d->engine->runtime.order);
		sfs_plan_judge(d, &e);
	}
	if (ret < 0)
		return ret;
	sfs_plan_report(d, &e, wanted->n_ranks, text);
	return wanted->svg ? sfs_plan_draw(d, &e.settings, wanted->svg, err) : 0;
}

int sfs_plan(struct sfs_options *options, const struct sfs_strings *specs,
	     const struct sfs_plan_options *wanted, struct sfs_strbuf *text,
	     struct sfs_error *err)
{
	struct sfs_plan_dataset dataset = {.batch = wanted->batch,
					   .is_exact = wanted->is_exact};
	struct sfs_engine *engine;
	int ret;

	sfs_ledger_keep_errors();
	ret = sfs_engine_start(options, specs, false, &engine, err);
	if (ret < 0)
		return ret;
	ret = sfs_plan_dataset_load(&dataset, engine, err);
	if (ret == 0)
		ret = make_plan(&dataset, wanted, text, err);
	sfs_plan_dataset_done(&dataset);
	sfs_engine_stop(engine);
	sfs_engine_free(engine);
	return ret;
}
