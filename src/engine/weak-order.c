/* SPDX-License-Identifier: MIT */
#include "engine/weak-order.h"

#include "base/alloc.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "catalog/sizes.h"
#include "config/options.h"
#include "io/runtime.h"
#include "order/worth.h"

#include <errno.h>
#include <stdio.h>

enum { UNKNOWN, BEGUN, KNOWN };

/* What may help: random segments nearly always do; of others, the largest need the fewest
 * requests, and single samples always help. */
static const struct {
	uint64_t segment;
	const char *option;
} cures[] = {{SFS_SEGMENT_RANDOM, "segment=random"},
	     {4 << 20, "segment=4M"},
	     {1 << 20, "segment=1M"},
	     {256 << 10, "segment=256K"},
	     {SFS_SEGMENT_SAMPLE, "segment=sample"}};

static void describe(const struct sfs_worth *w, struct sfs_strbuf *text)
{
	if (w->worth >= 0)
		sfs_strbuf_printf(text,
				  "a batch of %d is worth %.0f samples if each shard is "
				  "one class, and its samples meet again",
				  SFS_WORTH_BATCH, w->worth);
	else
		sfs_strbuf_printf(text, "the samples of a batch of %d meet again",
				  SFS_WORTH_BATCH);
	sfs_strbuf_printf(text,
			  " in the next epoch %.1f times as often as by chance "
			  "(estimated from the sizes of the shards; 'shufflefs plan' "
			  "measures)",
			  w->lift);
}

/* "segment=4M makes that 230 and 1.0". */
static void describe_cure(const struct sfs_order_settings *settings,
			  const struct sfs_worth_shards *shards,
			  struct sfs_strbuf *text)
{
	struct sfs_order_settings cured = *settings;
	struct sfs_worth w;
	size_t k;

	for (k = 0; k < SFS_COUNT(cures); k++) {
		cured.segment = cures[k].segment;
		if (sfs_worth_estimate(&cured, shards, &w) &&
		    !sfs_worth_is_low(&w))
			break;
	}
	if (k == SFS_COUNT(cures))
		return;
	sfs_strbuf_printf(text, "; %s makes that ", cures[k].option);
	if (w.worth >= 0)
		sfs_strbuf_printf(text, "%.0f and ", w.worth);
	sfs_strbuf_printf(text, "%.1f", w.lift);
}

/* Is it the order that a dataset of so many shards has by default? */
static bool is_default(const struct sfs_order_settings *s, uint32_t n_shards)
{
	struct sfs_options options = {0};
	bool ret;

	sfs_options_init(&options);
	ret = sfs_order_deals_shards(s) && s->buffer_bytes == options.buffer &&
	      (s->lanes == options.lanes ||
	       (n_shards <= s->lanes && n_shards <= options.lanes));
	sfs_options_done(&options);
	return ret;
}

static void estimate(const struct sfs_weak_order *weak, struct sfs_error *ret)
{
	const struct sfs_order_settings *settings = &weak->runtime->order;
	const struct sfs_shards *all = &weak->runtime->shards;
	sfs_autofree uint64_t *sizes = sfs_shards_sizes(all);
	const struct sfs_worth_shards shards = {
		.sizes = sizes,
		.n = all->n,
		.sample_bytes = sfs_sizes_first_files(weak->sizes)};
	struct sfs_strbuf text = {0};
	struct sfs_worth now;

	if (!is_default(settings, all->n) ||
	    !sfs_worth_estimate(settings, &shards, &now) || !sfs_worth_is_low(&now))
		return;
	describe(&now, &text);
	describe_cure(settings, &shards, &text);
	sfs_error_set(ret, -EIO, "this order shuffles %s badly: %s",
		      all->n > 1 ? "these shards" : "a single shard", text.s);
	sfs_strbuf_done(&text);
}

static bool are_sizes_known(const struct sfs_weak_order *w)
{
	return sfs_sizes_known(w->sizes) == w->runtime->shards.n;
}

void sfs_weak_order_init(struct sfs_weak_order *w, const struct sfs_runtime *runtime,
			 struct sfs_sizes *sizes)
{
	*w = (struct sfs_weak_order){.runtime = runtime, .sizes = sizes};
}

const char *sfs_weak_order_text(struct sfs_weak_order *w)
{
	int unknown = UNKNOWN;

	if (atomic_load(&w->state) == UNKNOWN && are_sizes_known(w) &&
	    atomic_compare_exchange_strong(&w->state, &unknown, BEGUN)) {
		estimate(w, &w->text);
		atomic_store(&w->state, KNOWN);
	}
	return atomic_load(&w->state) == KNOWN && w->text.text[0] ? w->text.text : NULL;
}

void sfs_weak_order_tell(struct sfs_weak_order *w)
{
	atomic_store(&w->is_wanted, true);
	sfs_weak_order_tick(w);
}

void sfs_weak_order_tick(struct sfs_weak_order *w)
{
	const char *text;

	if (!atomic_load(&w->is_wanted) || atomic_load(&w->is_told))
		return;
	text = sfs_weak_order_text(w);
	if (atomic_load(&w->state) == KNOWN && !atomic_exchange(&w->is_told, true) && text)
		sfs_warning("%s", text);
}
