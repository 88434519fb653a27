/* SPDX-License-Identifier: MIT */
/* How this works: a table is made for each shard.  Three shards (or all) are surveyed; of
 * the others only the sizes are asked for, and their samples are taken to be as large as
 * those three's are on average.  From there on it is the real order, played through; if
 * that is long, only at so many places of it, and at its end. */
#include "cli/plan.h"

#include "base/alloc.h"
#include "base/ledger.h"
#include "base/rng.h"
#include "engine/engine.h"
#include "order/iterate.h"
#include "order/partition.h"
#include "order/plot.h"
#include "order/quality.h"
#include "order/samples.h"
#include "stream/sizing.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define N_LOOKED_AT 3
#define N_AHEAD	    32	    /* surveys */
#define N_PLACES    200	    /* ten tenths of twenty */
#define N_PLAYED    2000000 /* samples at those places; orders twice as long are sampled */

struct plan {
	const struct sfs_plan_options *wanted;
	struct sfs_engine *engine;
	uint32_t n_shards;
	struct sfs_sample_table *tables; /* one a shard, whole */
	bool *is_pinned;		 /* the shard: its table borrows the index */
	struct sfs_sample_table
		guess;	     /* of samples of the mean size; the others borrow */
	void *guessed;	     /* its entries */
	uint64_t *n_samples; /* of each */
	uint64_t *base;	     /* the samples of the shards before */
	uint64_t n_all, n_bytes;
	uint32_t n_counted; /* shards whose samples are known */
};

/* ---- the dataset ---- */

/* Take over what is known of a pinned shard, if that is all.  Samples that lie in an
 * index are borrowed. */
static bool take_table(struct plan *p, uint32_t i)
{
	const struct sfs_sample_table *table =
		sfs_shard_table(&p->engine->runtime.shards.shards[i]);
	struct sfs_sample_table_sample s;
	uint64_t k, n;

	if (!table || sfs_sample_table_state(table) != SFS_SAMPLE_TABLE_WHOLE)
		return false;
	n = sfs_sample_table_n(table);
	p->is_pinned[i] = table->is_borrowed && n > 0;
	if (p->is_pinned[i]) {
		sfs_sample_table_borrow(&p->tables[i], table->chunks[0], n);
		return true;
	}
	for (k = 0; k < n; k++) {
		s = sfs_sample_table_get(table, k);
		sfs_sample_table_add(&p->tables[i],
				     &(struct sfs_extent){s.start, s.n_bytes, s.key_hash,
							  false});
	}
	sfs_sample_table_end(&p->tables[i], SFS_SAMPLE_TABLE_WHOLE);
	return true;
}

static int look_at(struct plan *p, uint32_t i, struct sfs_error *err)
{
	struct sfs_shards *shards = &p->engine->runtime.shards;
	struct sfs_shard *shard = &shards->shards[i];
	struct sfs_sync sync;
	int ret;

	sfs_shard_pin(shards, shard);
	sfs_sync_init(&sync);
	while ((ret = sfs_header_scan_table(&p->engine->scanner, shard, &sync.waiter)) ==
		       -EINPROGRESS &&
	       (ret = sfs_sync_wait(&sync)) == 0)
		;
	sfs_sync_done(&sync);
	if (ret == 0 && !take_table(p, i))
		ret = -EBADMSG;
	if (!p->is_pinned[i])
		sfs_shard_unpin(shards, shard);
	if (ret < 0) {
		sfs_ledger_why(shard->name, ret, err);
		return sfs_error_wrap(err, ret, "cannot read %s", shard->name);
	}
	p->n_counted++;
	return 0;
}

/* Those three, or all. */
static int look_at_some(struct plan *p, uint64_t *ret_mean, struct sfs_error *err)
{
	const uint32_t some[N_LOOKED_AT] = {0, p->n_shards / 2, p->n_shards - 1};
	bool is_all = p->wanted->is_exact || p->n_shards <= N_LOOKED_AT;
	struct sfs_shard *shards = p->engine->runtime.shards.shards;
	uint32_t i, k, n = is_all ? p->n_shards : N_LOOKED_AT, ahead = 0;
	uint64_t n_bytes = 0, n_samples = 0;
	int ret;

	for (i = 0; i < n; i++) {
		for (; ahead < n && ahead < i + N_AHEAD; ahead++)
			sfs_header_scan_table(&p->engine->scanner,
					      &shards[is_all ? ahead : some[ahead]],
					      NULL);
		k = is_all ? i : some[i];
		ret = look_at(p, k, err);
		if (ret < 0)
			return ret;
		n_bytes += shards[k].object.size;
		n_samples += sfs_sample_table_n(&p->tables[k]);
	}
	if (n_samples == 0)
		return sfs_error_set(err, -ENODATA, "found no samples in %u shards", n);
	*ret_mean = n_bytes / n_samples / SFS_TAR_BLOCK * SFS_TAR_BLOCK;
	return 0;
}

/* Shards that were not looked at have as many samples of one size as there is room for:
 * so they can borrow the same table, each as far as it reaches. */
static void guess_tables(struct plan *p, uint64_t mean_bytes)
{
	const struct sfs_shard *shards = p->engine->runtime.shards.shards;
	uint64_t most = 0, at = 0, n;
	uint32_t i;

	for (i = 0; i < p->n_shards; i++)
		if (sfs_sample_table_state(&p->tables[i]) != SFS_SAMPLE_TABLE_WHOLE)
			most = shards[i].object.size > most ? shards[i].object.size
							    : most;
	for (at = 0; at + mean_bytes <= most; at += mean_bytes)
		sfs_sample_table_add(&p->guess,
				     &(struct sfs_extent){at, mean_bytes, 0, false});
	n = sfs_sample_table_n(&p->guess);
	p->guessed = sfs_reallocarray(NULL, n + 1, SFS_SAMPLE_TABLE_ENTRY_BYTES);
	sfs_sample_table_copy(&p->guess, n, p->guessed);
	for (i = 0; i < p->n_shards; i++)
		if (sfs_sample_table_state(&p->tables[i]) != SFS_SAMPLE_TABLE_WHOLE)
			sfs_sample_table_borrow(&p->tables[i], p->guessed,
						shards[i].object.size / mean_bytes);
}

static int make_tables(struct plan *p, struct sfs_error *err)
{
	uint64_t mean_bytes = 0;
	uint32_t i;
	int ret;

	ret = look_at_some(p, &mean_bytes, err);
	if (ret < 0)
		return ret;
	guess_tables(p, mean_bytes);
	for (i = 0; i < p->n_shards; i++) {
		p->n_samples[i] = sfs_sample_table_n(&p->tables[i]);
		p->base[i] = p->n_all;
		p->n_all += p->n_samples[i];
		p->n_bytes += p->engine->runtime.shards.shards[i].object.size;
	}
	if (p->n_all >= UINT32_MAX)
		return sfs_error_set(err, -EOVERFLOW,
				     "the dataset has 2^32 samples or more, which is too "
				     "many for plan");
	return 0;
}

static const struct sfs_sample_table *table_of(void *ctx, uint32_t shard)
{
	struct plan *p = ctx;

	return &p->tables[shard];
}

/* ---- what an order is like ---- */

static const struct sfs_share everything = {.first = 0, .step = 1, .n_ranks = 1};

struct outlook {
	struct sfs_order_settings settings;
	uint32_t n_lanes; /* in use */
	struct sfs_quality quality;
	uint64_t n_slices, n_even;
	uint64_t part_bytes, memory_bytes;
};

static bool totals_of(void *ctx, uint32_t shard, uint64_t *ret_n, uint64_t *ret_bytes)
{
	const struct sfs_sample_table *table = table_of(ctx, shard);

	*ret_n = sfs_sample_table_n(table);
	*ret_bytes = sfs_sample_table_place(table, *ret_n);
	return true;
}

/* Is an order of n samples too long to be played through, just to be judged? */
static bool is_sampled(const struct plan *p, uint64_t n)
{
	uint64_t least = 4ULL * N_PLACES * p->wanted->batch;

	return !p->wanted->is_exact && n > 2 * N_PLAYED && n > least;
}

/* Play n samples. */
static void play_some(struct sfs_iterator *play, uint64_t n, struct sfs_quality_run *run)
{
	const struct sfs_block_sample *s;

	for (; n > 0 && (s = sfs_iterator_next(play)) != NULL; n--)
		sfs_quality_add(run, s->shard);
}

/* Play some batches at N_PLACES of the order, evenly apart, the first ones among them;
 * but what comes behind the last of these places whole: there lanes end, which leaves few
 * shards to the last batches. */
static void play_places(struct plan *p, struct sfs_locator *map, uint64_t n_samples,
			struct sfs_iterator *play, struct sfs_quality_run *run)
{
	uint64_t n = N_PLAYED / N_PLACES / p->wanted->batch * p->wanted->batch;
	struct sfs_spot at;
	uint32_t shard;
	uint64_t i;

	n = n > 0 ? n : p->wanted->batch;
	for (i = 0; i < N_PLACES; i++) {
		sfs_locator_nth(map, i * n_samples / N_PLACES, &at, &shard);
		sfs_iterator_seek(play, map, at.round);
		play_some(play, i + 1 < N_PLACES ? n : UINT64_MAX, run);
	}
	n /= p->wanted->batch;
	sfs_quality_fold(run, (N_PLACES - 1) * n, n);
}

/* Judge a part of epoch 0. */
static void judge(struct plan *p, const struct sfs_order *order,
		  struct sfs_quality *ret_quality)
{
	const struct sfs_sample_tables tables = {.ctx = p, .get = table_of};
	struct sfs_quality_run run;
	struct sfs_spot end;
	struct sfs_iterator play;
	struct sfs_locator map;
	uint32_t shard;
	uint64_t n;

	sfs_iterator_init(&play, order, &tables);
	sfs_locator_init(&map, order, &tables, totals_of);
	sfs_locator_nth(&map, UINT64_MAX, &end, &shard);
	n = sfs_locator_number(&map, &end);
	sfs_quality_begin(&run, p->wanted->batch, p->n_shards, p->n_samples);
	if (is_sampled(p, n))
		play_places(p, &map, n, &play, &run);
	else
		play_some(&play, n, &run);
	sfs_quality_end(&run, ret_quality);
	sfs_locator_done(&map);
	sfs_iterator_done(&play);
}

/* Which batch of an epoch each sample is in. */
static void note_batches(struct plan *p, const struct sfs_order_settings *settings,
			 uint64_t epoch, uint32_t *batches)
{
	const struct sfs_sample_tables tables = {.ctx = p, .get = table_of};
	const struct sfs_block_sample *s;
	struct sfs_order order;
	struct sfs_iterator play;
	uint64_t k;

	sfs_partition(&order, settings, epoch, p->n_shards, &tables, everything);
	sfs_iterator_init(&play, &order, &tables);
	for (k = 0; (s = sfs_iterator_next(&play)) != NULL; k++)
		batches[p->base[s->shard] + s->index] = (uint32_t)(k / p->wanted->batch);
	sfs_iterator_done(&play);
	sfs_order_done(&order);
}

/* What settings take. */
static struct outlook look_out(struct plan *p, const struct sfs_order_settings *settings)
{
	const struct sfs_runtime *runtime = &p->engine->runtime;
	struct sfs_netpath path = sfs_runtime_path(runtime);
	struct outlook o = {.settings = *settings};
	uint64_t most = sfs_order_wants_equal_lanes(settings) ? p->n_all : p->n_shards;

	o.n_lanes = most < settings->lanes ? (uint32_t)most : settings->lanes;
	o.part_bytes = sfs_sizing_part(&path, runtime->budget.limit_bytes, o.n_lanes);
	o.memory_bytes =
		sfs_sizing_stream(&path, o.n_lanes, settings->buffer_bytes / o.n_lanes,
				  o.part_bytes);
	if (o.memory_bytes > runtime->budget.total_bytes)
		o.memory_bytes = runtime->budget.total_bytes;
	return o;
}

/* And what they are worth. */
static void judge_epoch(struct plan *p, struct outlook *o)
{
	const struct sfs_sample_tables tables = {.ctx = p, .get = table_of};
	struct sfs_order order;

	sfs_partition(&order, &o->settings, 0, p->n_shards, &tables, everything);
	o->n_slices = sfs_order_slices(&order);
	o->n_even = order.has_equal_lanes ? order.n_samples
					  : sfs_iterator_even(&order, &tables);
	judge(p, &order, &o->quality);
	sfs_order_done(&order);
}

/* ---- for people ---- */

static void print_dataset(const struct plan *p, struct sfs_strbuf *text)
{
	char size[32];

	sfs_strbuf_printf(text, "%-16s%u shards, %s bytes, %s%" PRIu64 " samples%s\n",
			  "dataset", p->n_shards, sfs_format_size(p->n_bytes, size),
			  p->n_counted == p->n_shards ? "" : "about ", p->n_all,
			  p->n_counted == p->n_shards
				  ? ""
				  : " (estimated from three shards; --exact counts all)");
}

/* As an option takes it: "64M", "100000". */
static const char *exact_size(uint64_t n_bytes, char buf[32])
{
	static const char units[] = " KMGTPE";
	const char *unit = units;

	for (; n_bytes > 0 && n_bytes % 1024 == 0 && unit[1]; unit++)
		n_bytes /= 1024;
	snprintf(buf, 32, "%" PRIu64 "%.*s", n_bytes, unit > units, unit);
	return buf;
}

/* As -o takes them. */
static void print_settings(const struct sfs_order_settings *s, struct sfs_strbuf *text)
{
	static const char *const equals[] = {"none", "drop", "pad"};
	char size[32];

	sfs_strbuf_printf(text, "seed=%" PRIu64 ",lanes=%u,buffer=%s", s->seed, s->lanes,
			  exact_size(s->buffer_bytes, size));
	if (s->segment != SFS_SEGMENT_SHARD) {
		sfs_strbuf_puts(text, ",segment=");
		sfs_options_print_segment(s->segment, text);
	}
	if (s->equal != SFS_EQUAL_NONE)
		sfs_strbuf_printf(text, ",equal=%s", equals[s->equal]);
}

static void print_order(const struct outlook *o, struct sfs_strbuf *text)
{
	sfs_strbuf_printf(text, "%-16s", "order");
	print_settings(&o->settings, text);
	if (o->n_lanes < o->settings.lanes)
		sfs_strbuf_printf(text, "; one %s per lane, as there are no more",
				  sfs_order_wants_equal_lanes(&o->settings) ? "sample"
									    : "shard");
	sfs_strbuf_printf(text, "\n");
}

static void print_worth(const struct plan *p, const char *what, double worth,
			struct sfs_strbuf *text)
{
	sfs_strbuf_printf(text, "  %-14s%.0f%s\n", what, worth,
			  worth >= p->wanted->batch
				  ? " (as good as a random batch, or better)"
				  : "");
}

/* From epoch 0 to 1. */
static void print_lift(struct plan *p, const struct outlook *o, struct sfs_strbuf *text)
{
	sfs_autofree uint32_t *before = NULL, *after = NULL;

	if (is_sampled(p, p->n_all)) {
		sfs_strbuf_printf(
			text, "%-16snot computed for this many samples; use --exact\n",
			"co-batch lift");
		return;
	}
	before = sfs_reallocarray(NULL, p->n_all, sizeof *before);
	after = sfs_reallocarray(NULL, p->n_all, sizeof *after);
	note_batches(p, &o->settings, 0, before);
	note_batches(p, &o->settings, 1, after);
	sfs_strbuf_printf(
		text,
		"%-16s%.2f times the chance level: how often two samples of a batch\n"
		"%-16sshare one in the next epoch\n",
		"co-batch lift",
		sfs_quality_lift(before, after, p->n_all, p->wanted->batch), "");
}

static void print_rank(struct plan *p, const struct outlook *o, struct sfs_strbuf *text)
{
	const struct sfs_share share = {.first = 0,
					.step = p->wanted->n_ranks,
					.n_ranks = p->wanted->n_ranks};
	const struct sfs_sample_tables tables = {.ctx = p, .get = table_of};
	struct sfs_order order;
	struct sfs_quality q;
	char what[40];

	sfs_partition(&order, &o->settings, 0, p->n_shards, &tables, share);
	judge(p, &order, &q);
	sfs_order_done(&order);
	snprintf(what, sizeof what, "rank 0 of %u", p->wanted->n_ranks);
	if (q.n_batches > 0)
		print_worth(p, what, q.whole, text);
	else
		sfs_strbuf_printf(text, "  %-14shas fewer samples than a batch\n", what);
}

static void print_quality(struct plan *p, const struct outlook *o,
			  struct sfs_strbuf *text)
{
	sfs_strbuf_printf(text,
			  "%-16sis worth this many independent samples, if each shard is "
			  "one class:\n",
			  "a batch");
	if (o->quality.n_samples < p->n_all / 2)
		sfs_strbuf_printf(text,
				  "  %-14sfrom %" PRIu64
				  " samples at %d places and at the end; "
				  "--exact plays all\n",
				  "estimated", o->quality.n_samples, N_PLACES);
	sfs_strbuf_printf(text, "  %-14s%u\n", "of", p->wanted->batch);
	print_worth(p, "whole epoch", o->quality.whole, text);
	print_worth(p, "first batch", o->quality.first, text);
	print_worth(p, "worst tenth", o->quality.worst_tenth, text);
	if (p->wanted->n_ranks > 0)
		print_rank(p, o, text);
	sfs_strbuf_printf(text, "%-16s%.1f per batch, on average\n", "shards",
			  o->quality.n_shards);
	print_lift(p, o, text);
}

static void print_cost(struct plan *p, const struct outlook *o, struct sfs_strbuf *text)
{
	char memory[32], part[32];

	sfs_strbuf_printf(
		text, "%-16sabout %s per stream, of budget=%s\n", "memory",
		sfs_format_size(o->memory_bytes >> 20 << 20, memory),
		sfs_format_size(p->engine->runtime.budget.total_bytes >> 20 << 20, part));
	sfs_strbuf_printf(text, "%-16s%d\n", "connections",
			  p->engine->runtime.n_connections);
	sfs_strbuf_printf(text, "%-16sabout %" PRIu64 " per epoch, of %s%s\n", "requests",
			  o->n_slices + p->n_bytes / o->part_bytes + p->n_shards,
			  o->settings.segment == SFS_SEGMENT_SHARD ? "" : "at most ",
			  sfs_format_size(o->part_bytes, part));
	sfs_strbuf_printf(
		text,
		"%-16sfor %.0f%% of the epoch, any number of ranks that divides "
		"lanes\n%-16sreads the same order\n",
		"elastic", 100.0 * (double)o->n_even / (double)p->n_all, "");
}

static void print_outlook(struct plan *p, const struct outlook *o,
			  struct sfs_strbuf *text)
{
	print_order(o, text);
	print_quality(p, o, text);
	print_cost(p, o, text);
	sfs_strbuf_printf(text, "%-16s-o ", "mount with");
	print_settings(&o->settings, text);
	sfs_strbuf_printf(text, "\n");
}

/* ---- the cheapest that is good enough ---- */

/* Less memory first; of as much, whole shards, for they need no index and the fewest
 * requests; then larger segments. */
static int by_cost(const void *a, const void *b)
{
	const struct outlook *x = a, *y = b;
	uint64_t at_x = x->settings.segment - 1, at_y = y->settings.segment - 1;

	if (x->memory_bytes != y->memory_bytes)
		return x->memory_bytes < y->memory_bytes ? -1 : 1;
	if (at_x != at_y)
		return at_x > at_y ? -1 : 1; /* SFS_SEGMENT_SHARD is 0 */
	return (x->settings.lanes > y->settings.lanes) -
	       (x->settings.lanes < y->settings.lanes);
}

/* Smaller segments than shards, unless the user has said which. */
static const uint64_t segments[] = {SFS_SEGMENT_SHARD, 16ULL << 20, 1ULL << 20};

/* < 0, and the best of all in *ret_outlook: none is good enough. */
static int find_cheapest(struct plan *p, struct outlook *ret, struct sfs_error *err)
{
	static const uint32_t lanes[] = {6, 12, 24, 48, 96, 192, 384, 768, 1536};
	static const uint64_t buffers[] = {16ULL << 20, 64ULL << 20, 256ULL << 20,
					   1ULL << 30};
	enum { N = SFS_COUNT(lanes) * SFS_COUNT(buffers) };
	struct sfs_order_settings settings = p->engine->runtime.order;
	size_t n_segments =
		settings.segment == SFS_SEGMENT_SHARD ? SFS_COUNT(segments) : 1;
	struct outlook all[N * SFS_COUNT(segments)], best = {.quality.whole = -1};
	size_t i, n = 0;

	for (i = 0; i < N * n_segments; i++) {
		settings.lanes = lanes[i % SFS_COUNT(lanes)];
		settings.buffer_bytes =
			buffers[i / SFS_COUNT(lanes) % SFS_COUNT(buffers)];
		if (n_segments > 1)
			settings.segment = segments[i / N];
		if (p->wanted->n_ranks == 0 || settings.lanes % p->wanted->n_ranks == 0)
			all[n++] = look_out(p, &settings);
	}
	if (n == 0)
		return sfs_error_set(
			err, -EINVAL,
			"--ranks=%u divides none of the lane counts that --quality tries",
			p->wanted->n_ranks);
	qsort(all, n, sizeof *all, by_cost);
	for (i = 0; i < n && best.quality.whole < p->wanted->quality; i++) {
		judge_epoch(p, &all[i]);
		if (all[i].quality.whole > best.quality.whole)
			best = all[i];
	}
	*ret = best;
	if (best.quality.whole >= p->wanted->quality)
		return 0;
	return sfs_error_set(err, -ERANGE,
			     "no settings reach --quality=%g: the best is %.0f, with "
			     "lanes=%u; use more and smaller shards",
			     p->wanted->quality, best.quality.whole, best.settings.lanes);
}

/* ---- the picture ---- */

enum { BUFFER = 1000, INITIAL = 100 }; /* of WebDataset's shuffle(1000) */

/* As its filters.py does: from the 100th sample on one leaves for each that comes, or for
 * each second until the buffer is full.  Its list of shards is shuffled as well. */
static void draw_webdataset(const struct plan *p, struct sfs_panel *panel)
{
	sfs_autofree uint32_t *shards = sfs_calloc(p->n_shards, sizeof *shards);
	uint32_t held[BUFFER], n = 0, i, at = 0;
	struct sfs_rng r = {1};
	uint64_t left = 0, k;
	bool is_second = false;

	for (i = 0; i < p->n_shards; i++)
		shards[i] = i;
	sfs_rng_shuffle(&r, shards, p->n_shards);
	for (k = 0; k < p->n_all + BUFFER; k++) {
		while (at < p->n_shards && left == 0)
			left = p->n_samples[shards[at++]];
		if (left > 0) {
			held[n++] = shards[at - 1];
			left--;
			if (n < INITIAL || (n < BUFFER && (is_second = !is_second)))
				continue;
		}
		if (n == 0)
			break;
		i = (uint32_t)sfs_rng_below(&r, n);
		sfs_panel_add(panel, held[i]);
		held[i] = held[--n];
	}
}

static void draw_in_order(const struct plan *p, struct sfs_panel *panel)
{
	uint64_t k;
	uint32_t i;

	for (i = 0; i < p->n_shards; i++)
		for (k = 0; k < p->n_samples[i]; k++)
			sfs_panel_add(panel, i);
}

static void draw_permutation(const struct plan *p, struct sfs_panel *panel)
{
	sfs_autofree uint32_t *all = sfs_reallocarray(NULL, p->n_all, sizeof *all);
	struct sfs_rng r = {1};
	uint64_t k, n = 0;
	uint32_t i;

	for (i = 0; i < p->n_shards; i++)
		for (k = 0; k < p->n_samples[i]; k++)
			all[n++] = i;
	sfs_rng_shuffle(&r, all, n);
	for (k = 0; k < n; k++)
		sfs_panel_add(panel, all[k]);
}

static void draw_ours(struct plan *p, const struct outlook *o, struct sfs_panel *panel)
{
	const struct sfs_sample_tables tables = {.ctx = p, .get = table_of};
	const struct sfs_block_sample *s;
	struct sfs_order order;
	struct sfs_iterator play;

	sfs_partition(&order, &o->settings, 0, p->n_shards, &tables, everything);
	sfs_iterator_init(&play, &order, &tables);
	while ((s = sfs_iterator_next(&play)) != NULL)
		sfs_panel_add(panel, s->shard);
	sfs_iterator_done(&play);
	sfs_order_done(&order);
}

/* Would writing there cost somebody a file?  In place of another drawing, no. */
static bool is_precious(const char *path)
{
	static const char begins[] = "<svg xmlns";
	char found[sizeof begins] = "";
	struct stat st;
	FILE *f;

	if (stat(path, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size == 0)
		return false;
	f = fopen(path, "re");
	if (f && fread(found, 1, sizeof begins - 1, f) == 0)
		found[0] = 0;
	if (f)
		fclose(f);
	return strcmp(found, begins) != 0;
}

static int write_file(const char *path, const struct sfs_strbuf *text,
		      struct sfs_error *err)
{
	bool is_written;
	FILE *f;

	/* "--svg SHARD SHARD": the first one is the drawing's name. */
	if (is_precious(path))
		return sfs_error_set(err, -EEXIST,
				     "--svg=%s: the file exists and is not an SVG "
				     "drawing; choose another name",
				     path);
	f = fopen(path, "we");
	is_written = f && fwrite(text->s, 1, text->n, f) == text->n;
	if (f && fclose(f) != 0)
		is_written = false;
	if (!is_written)
		return sfs_error_set(err, -errno, "%s: %s", path, strerror(errno));
	return 0;
}

static int draw(struct plan *p, const struct outlook *o, struct sfs_error *err)
{
	enum { OURS, IN_ORDER, WEBDATASET, PERMUTATION, N_PANELS };
	sfs_autofree struct sfs_panel *panels = sfs_calloc(N_PANELS, sizeof *panels);
	struct sfs_strbuf svg = {0};
	struct sfs_strbuf settings = {0};
	int ret;

	print_settings(&o->settings, &settings);
	sfs_panel_begin(&panels[OURS], "shufflefs", settings.s, p->n_all, p->n_shards);
	sfs_panel_begin(&panels[IN_ORDER], "no shuffle",
			"the shards, one after the other", p->n_all, p->n_shards);
	sfs_panel_begin(&panels[WEBDATASET], "WebDataset's shuffle(1000)",
			"and the list of shards shuffled", p->n_all, p->n_shards);
	sfs_panel_begin(&panels[PERMUTATION], "a full permutation",
			"each sample anywhere", p->n_all, p->n_shards);
	draw_ours(p, o, &panels[OURS]);
	draw_in_order(p, &panels[IN_ORDER]);
	draw_webdataset(p, &panels[WEBDATASET]);
	draw_permutation(p, &panels[PERMUTATION]);
	sfs_plot_print(panels, N_PANELS, &svg);
	ret = write_file(p->wanted->svg, &svg, err);
	sfs_strbuf_done(&svg);
	sfs_strbuf_done(&settings);
	return ret;
}

/* ---- all of it ---- */

static int make_plan(struct plan *p, struct sfs_strbuf *text, struct sfs_error *err)
{
	struct outlook o;
	int ret;

	ret = sfs_engine_wait_for_sizes(p->engine, err);
	if (ret == 0)
		ret = make_tables(p, err);
	if (ret < 0)
		return ret;
	if (p->n_all < p->wanted->batch)
		return sfs_error_set(
			err, -EINVAL,
			"--batch=%u is larger than the dataset, which has %" PRIu64
			" samples",
			p->wanted->batch, p->n_all);
	if (p->wanted->quality > 0) {
		ret = find_cheapest(p, &o, err);
	} else {
		o = look_out(p, &p->engine->runtime.order);
		judge_epoch(p, &o);
	}
	if (ret < 0)
		return ret;
	print_dataset(p, text);
	print_outlook(p, &o, text);
	return p->wanted->svg ? draw(p, &o, err) : 0;
}

int sfs_plan(struct sfs_options *options, const struct sfs_strings *specs,
	     const struct sfs_plan_options *wanted, struct sfs_strbuf *text,
	     struct sfs_error *err)
{
	struct plan p = {.wanted = wanted};
	uint32_t i;
	int ret;

	sfs_ledger_keep_errors();
	ret = sfs_engine_start(options, specs, false, &p.engine, err);
	if (ret < 0)
		return ret;
	p.n_shards = p.engine->runtime.shards.n;
	p.tables = sfs_calloc(p.n_shards, sizeof *p.tables);
	p.n_samples = sfs_calloc(p.n_shards, sizeof *p.n_samples);
	p.base = sfs_calloc(p.n_shards, sizeof *p.base);
	p.is_pinned = sfs_calloc(p.n_shards, sizeof *p.is_pinned);
	ret = make_plan(&p, text, err);
	for (i = 0; i < p.n_shards; i++) {
		sfs_sample_table_done(&p.tables[i]);
		if (p.is_pinned[i])
			sfs_shard_unpin(&p.engine->runtime.shards,
					&p.engine->runtime.shards.shards[i]);
	}
	sfs_sample_table_done(&p.guess);
	free(p.guessed);
	free(p.is_pinned);
	free(p.tables);
	free(p.n_samples);
	free(p.base);
	sfs_engine_stop(p.engine);
	sfs_engine_free(p.engine);
	return ret;
}
