/* SPDX-License-Identifier: MIT */
/* How this works: a table is made for each shard.  Three shards (or all) are surveyed; of
 * the others only the sizes are asked for, and their samples are taken to be as large as
 * those three's are on average.  From there on it is the real order, played through. */
#include "plan.h"

#include "core.h"
#include "deal.h"
#include "mem.h"
#include "picture.h"
#include "play.h"
#include "quality.h"
#include "rng.h"
#include "table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N_LOOKED_AT 3

struct plan {
	const struct sfs_plan_options *wanted;
	struct sfs_core *core;
	uint32_t n_shards;
	struct sfs_table *tables; /* one a shard, whole */
	uint64_t *n_samples;	  /* of each */
	uint64_t *base;		  /* the samples of the shards before */
	uint64_t n_all, n_bytes;
	uint32_t n_counted; /* shards whose samples are known */
};

/* ---- the dataset ---- */

static int wait_for_sizes(struct plan *p, struct sfs_error *err)
{
	struct sfs_sync sync;
	int ret;

	sfs_sync_init(&sync);
	while ((ret = sfs_census_all(p->core->census, &sync.waiter)) == -EINPROGRESS &&
	       (ret = sfs_sync_wait(&sync)) == 0)
		;
	sfs_sync_done(&sync);
	if (ret < 0)
		sfs_error_set(err, ret, "the size of a shard is not to be had: %s",
			      strerror(-ret));
	return ret;
}

/* Copy a shard's table, if it is at hand and whole. */
static bool copy_table(struct plan *p, uint32_t i)
{
	struct sfs_shards *shards = &p->core->env.shards;
	const struct sfs_table *table;
	bool is_whole;
	uint64_t k, n;

	pthread_rwlock_rdlock(&shards->drop_lock);
	table = sfs_shard_table(&shards->shards[i]);
	is_whole = table && sfs_table_state(table) == SFS_TABLE_WHOLE;
	n = is_whole ? sfs_table_n(table) : 0;
	for (k = 0; k < n; k++) {
		struct sfs_table_sample s = sfs_table_get(table, k);

		sfs_table_add(&p->tables[i], &(struct sfs_extent){s.start, s.n_bytes,
								  s.key_hash, false});
	}
	pthread_rwlock_unlock(&shards->drop_lock);
	if (is_whole)
		sfs_table_end(&p->tables[i], SFS_TABLE_WHOLE);
	return is_whole;
}

static int look_at(struct plan *p, uint32_t i, struct sfs_error *err)
{
	struct sfs_shard *shard = &p->core->env.shards.shards[i];
	struct sfs_sync sync;
	int ret;

	sfs_sync_init(&sync);
	while ((ret = sfs_survey_table(&p->core->surveyor, shard, &sync.waiter)) ==
		       -EINPROGRESS &&
	       (ret = sfs_sync_wait(&sync)) == 0)
		;
	sfs_sync_done(&sync);
	if (ret == 0 && !copy_table(p, i))
		ret = -EBADMSG;
	if (ret < 0)
		return sfs_error_set(err, ret, "%s cannot be read: %s", shard->name,
				     ret == -EBADMSG ? "it is damaged" : strerror(-ret));
	p->n_counted++;
	return 0;
}

/* As many samples of one size as the shard has room for. */
static void guess_table(struct plan *p, uint32_t i, uint64_t mean_bytes)
{
	uint64_t size = p->core->env.shards.shards[i].object.size, at;

	for (at = 0; at + mean_bytes <= size; at += mean_bytes)
		sfs_table_add(&p->tables[i],
			      &(struct sfs_extent){at, mean_bytes, 0, false});
	sfs_table_end(&p->tables[i], SFS_TABLE_WHOLE);
}

static int make_tables(struct plan *p, struct sfs_error *err)
{
	const uint32_t some[N_LOOKED_AT] = {0, p->n_shards / 2, p->n_shards - 1};
	bool is_all = p->wanted->is_exact || p->n_shards <= N_LOOKED_AT;
	uint32_t i, n = is_all ? p->n_shards : N_LOOKED_AT;
	uint64_t looked_bytes = 0, looked_samples = 0, mean_bytes;
	int ret;

	for (i = 0; i < n; i++) {
		uint32_t k = is_all ? i : some[i];

		ret = look_at(p, k, err);
		if (ret < 0)
			return ret;
		looked_bytes += p->core->env.shards.shards[k].object.size;
		looked_samples += sfs_table_n(&p->tables[k]);
	}
	if (looked_samples == 0)
		return sfs_error_set(err, -ENODATA, "there are no samples in %u shards",
				     n);
	mean_bytes = looked_bytes / looked_samples / SFS_TAR_BLOCK * SFS_TAR_BLOCK;
	for (i = 0; i < p->n_shards; i++) {
		if (sfs_table_state(&p->tables[i]) != SFS_TABLE_WHOLE)
			guess_table(p, i, mean_bytes);
		p->n_samples[i] = sfs_table_n(&p->tables[i]);
		p->base[i] = p->n_all;
		p->n_all += p->n_samples[i];
		p->n_bytes += p->core->env.shards.shards[i].object.size;
	}
	return 0;
}

static const struct sfs_table *table_of(void *ctx, uint32_t shard)
{
	struct plan *p = ctx;

	return &p->tables[shard];
}

/* ---- what an order is like ---- */

struct outlook {
	struct sfs_order_settings settings;
	uint32_t n_lanes; /* in use */
	struct sfs_quality quality;
	uint64_t part_bytes, memory_bytes;
};

/* Play a part of an epoch; batches[] (NULL: don't) gets each sample's batch. */
static void judge(struct plan *p, const struct sfs_order_settings *settings,
		  uint64_t epoch, struct sfs_share share, struct sfs_quality *ret_quality,
		  uint32_t *batches)
{
	const struct sfs_tables tables = {.ctx = p, .get = table_of};
	const struct sfs_block_sample *s;
	struct sfs_quality_run run;
	struct sfs_order order;
	struct sfs_play play;
	uint64_t k;

	sfs_deal(&order, settings, epoch, p->n_shards, &tables, share);
	sfs_play_init(&play, &order, &tables);
	sfs_quality_begin(&run, p->wanted->batch, p->n_shards, p->n_samples);
	for (k = 0; (s = sfs_play_next(&play)) != NULL; k++) {
		sfs_quality_add(&run, s->shard);
		if (batches)
			batches[p->base[s->shard] + s->index] =
				(uint32_t)(k / p->wanted->batch);
	}
	sfs_quality_end(&run, ret_quality);
	sfs_play_done(&play);
	sfs_order_done(&order);
}

static struct outlook look_out(struct plan *p, const struct sfs_order_settings *settings)
{
	const struct sfs_env *env = &p->core->env;
	struct outlook o = {.settings = *settings};

	o.n_lanes = p->n_shards < settings->lanes ? p->n_shards : settings->lanes;
	o.part_bytes = sfs_env_part_bytes_of(env, o.n_lanes);
	o.memory_bytes =
		sfs_env_enough_bytes(env, o.n_lanes, settings->buffer_bytes / o.n_lanes,
				     o.part_bytes);
	if (o.memory_bytes > env->budget.total_bytes)
		o.memory_bytes = env->budget.total_bytes;
	return o;
}

/* ---- for people ---- */

static const struct sfs_share everything = {.first = 0, .step = 1, .n_ranks = 1};

static void print_dataset(const struct plan *p, struct sfs_text *text)
{
	char size[32];

	sfs_text_printf(text, "%-16s%u shards, %s bytes, %s%" PRIu64 " samples%s\n",
			"dataset", p->n_shards, sfs_text_size(p->n_bytes, size),
			p->n_counted == p->n_shards ? "" : "about ", p->n_all,
			p->n_counted == p->n_shards
				? ""
				: " (counted in three shards; --exact counts all)");
}

static void print_order(const struct outlook *o, struct sfs_text *text)
{
	char size[32];

	sfs_text_printf(text, "%-16sseed=%" PRIu64 ",lanes=%u,buffer=%s%s\n", "order",
			o->settings.seed, o->settings.lanes,
			sfs_text_size(o->settings.buffer_bytes, size),
			o->n_lanes < o->settings.lanes
				? "; a shard is a lane, as there are no more"
				: "");
}

static void print_worth(const struct plan *p, const char *what, double worth,
			struct sfs_text *text)
{
	sfs_text_printf(text, "  %-14s%.0f%s\n", what, worth,
			worth >= p->wanted->batch ? " (as good as chance, or better)"
						  : "");
}

/* From epoch 0 to 1. */
static void print_lift(struct plan *p, const struct outlook *o, struct sfs_text *text)
{
	sfs_autofree uint32_t *before = NULL, *after = NULL;
	struct sfs_quality q;

	before = sfs_reallocarray(NULL, p->n_all, sizeof *before);
	after = sfs_reallocarray(NULL, p->n_all, sizeof *after);
	judge(p, &o->settings, 0, everything, &q, before);
	judge(p, &o->settings, 1, everything, &q, after);
	sfs_text_printf(text,
			"%-16s%.2f times as likely as by chance that two samples of a "
			"batch\n%-16smeet again in the next epoch\n",
			"co-batch lift",
			sfs_quality_lift(before, after, p->n_all, p->wanted->batch), "");
}

static void print_rank(struct plan *p, const struct outlook *o, struct sfs_text *text)
{
	const struct sfs_share share = {.first = 0,
					.step = p->wanted->n_ranks,
					.n_ranks = p->wanted->n_ranks};
	struct sfs_quality q;
	char what[40];

	judge(p, &o->settings, 0, share, &q, NULL);
	snprintf(what, sizeof what, "rank 0 of %u", p->wanted->n_ranks);
	print_worth(p, what, q.whole, text);
}

static void print_quality(struct plan *p, const struct outlook *o, struct sfs_text *text)
{
	sfs_text_printf(text,
			"%-16sis worth so many independent samples, if a shard is one "
			"class:\n",
			"a batch");
	sfs_text_printf(text, "  %-14s%u\n", "of", p->wanted->batch);
	print_worth(p, "whole epoch", o->quality.whole, text);
	print_worth(p, "first batch", o->quality.first, text);
	print_worth(p, "worst tenth", o->quality.worst_tenth, text);
	if (p->wanted->n_ranks > 0)
		print_rank(p, o, text);
	sfs_text_printf(text, "%-16s%.1f in a batch, on average\n", "shards",
			o->quality.n_shards);
	print_lift(p, o, text);
}

static void print_cost(struct plan *p, const struct outlook *o, struct sfs_text *text)
{
	const struct sfs_tables tables = {.ctx = p, .get = table_of};
	uint64_t n_requests = p->n_shards, even;
	struct sfs_order order;
	char memory[32], part[32];
	uint32_t i;

	for (i = 0; i < p->n_shards; i++)
		n_requests +=
			p->core->env.shards.shards[i].object.size / o->part_bytes + 1;
	sfs_text_printf(text, "%-16sabout %s for a stream, of budget=%s\n", "memory",
			sfs_text_size(o->memory_bytes >> 20 << 20, memory),
			sfs_text_size(p->core->env.budget.total_bytes >> 20 << 20, part));
	sfs_text_printf(text, "%-16s%d\n", "connections", p->core->env.n_connections);
	sfs_text_printf(text, "%-16sabout %" PRIu64 " an epoch, of %s\n", "requests",
			n_requests, sfs_text_size(o->part_bytes, part));
	sfs_deal(&order, &o->settings, 0, p->n_shards, &tables, everything);
	even = sfs_play_even(&order, &tables);
	sfs_order_done(&order);
	sfs_text_printf(text,
			"%-16sfor %.0f%% of the epoch, any number of ranks that divides "
			"lanes\n%-16sreads the same order\n",
			"elastic", 100.0 * (double)even / (double)p->n_all, "");
}

static void print_outlook(struct plan *p, const struct outlook *o, struct sfs_text *text)
{
	char size[32];

	print_order(o, text);
	print_quality(p, o, text);
	print_cost(p, o, text);
	sfs_text_printf(text, "%-16s-o seed=%" PRIu64 ",lanes=%u,buffer=%s", "mount with",
			o->settings.seed, o->settings.lanes,
			sfs_text_size(o->settings.buffer_bytes, size));
	if (o->settings.segment != SFS_SEGMENT_SHARD) {
		sfs_text_puts(text, ",segment=");
		sfs_options_print_segment(o->settings.segment, text);
	}
	if (o->settings.equal != SFS_EQUAL_NONE)
		sfs_text_puts(text, o->settings.equal == SFS_EQUAL_DROP ? ",equal=drop"
									: ",equal=pad");
	sfs_text_puts(text, "\n");
}

/* ---- the cheapest that is good enough ---- */

static int by_memory(const void *a, const void *b)
{
	const struct outlook *x = a, *y = b;

	if (x->memory_bytes != y->memory_bytes)
		return x->memory_bytes < y->memory_bytes ? -1 : 1;
	return (x->settings.lanes > y->settings.lanes) -
	       (x->settings.lanes < y->settings.lanes);
}

/* < 0, and the best of all in *ret_outlook: none is good enough. */
static int find_cheapest(struct plan *p, struct outlook *ret, struct sfs_error *err)
{
	static const uint32_t lanes[] = {6, 12, 24, 48, 96, 192, 384, 768, 1536};
	static const uint64_t buffers[] = {16ULL << 20, 64ULL << 20, 256ULL << 20,
					   1ULL << 30};
	enum { N = SFS_COUNT(lanes) * SFS_COUNT(buffers) };
	struct outlook all[N], best = {.quality.whole = -1};
	size_t i;

	for (i = 0; i < N; i++)
		all[i] = look_out(p,
				  &(struct sfs_order_settings){
					  .seed = p->core->env.order.seed,
					  .lanes = lanes[i % SFS_COUNT(lanes)],
					  .buffer_bytes = buffers[i / SFS_COUNT(lanes)]});
	qsort(all, N, sizeof *all, by_memory);
	for (i = 0; i < N && best.quality.whole < p->wanted->quality; i++) {
		judge(p, &all[i].settings, 0, everything, &all[i].quality, NULL);
		if (all[i].quality.whole > best.quality.whole)
			best = all[i];
	}
	*ret = best;
	if (best.quality.whole >= p->wanted->quality)
		return 0;
	return sfs_error_set(
		err, -ERANGE,
		"no settings make a batch worth %g samples; the best of these "
		"shards is %.0f, with lanes=%u: more and smaller shards help",
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
	const struct sfs_tables tables = {.ctx = p, .get = table_of};
	const struct sfs_block_sample *s;
	struct sfs_order order;
	struct sfs_play play;

	sfs_deal(&order, &o->settings, 0, p->n_shards, &tables, everything);
	sfs_play_init(&play, &order, &tables);
	while ((s = sfs_play_next(&play)) != NULL)
		sfs_panel_add(panel, s->shard);
	sfs_play_done(&play);
	sfs_order_done(&order);
}

static int write_file(const char *path, const struct sfs_text *text,
		      struct sfs_error *err)
{
	FILE *f = fopen(path, "w");
	bool is_written = f && fwrite(text->s, 1, text->n, f) == text->n;

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
	struct sfs_text svg = {0};
	char settings[80], size[32];
	int ret;

	snprintf(settings, sizeof settings, "seed=%" PRIu64 ", lanes=%u, buffer=%s",
		 o->settings.seed, o->settings.lanes,
		 sfs_text_size(o->settings.buffer_bytes, size));
	sfs_panel_begin(&panels[OURS], "shufflefs", settings, p->n_all, p->n_shards);
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
	sfs_picture_print(panels, N_PANELS, &svg);
	ret = write_file(p->wanted->svg, &svg, err);
	sfs_text_done(&svg);
	return ret;
}

/* ---- all of it ---- */

static int make_plan(struct plan *p, struct sfs_text *text, struct sfs_error *err)
{
	struct outlook o;
	int ret;

	ret = wait_for_sizes(p, err);
	if (ret == 0)
		ret = make_tables(p, err);
	if (ret < 0)
		return ret;
	if (p->n_all < p->wanted->batch)
		return sfs_error_set(err, -EINVAL,
				     "a batch of %u is more than all %" PRIu64 " samples",
				     p->wanted->batch, p->n_all);
	if (p->wanted->quality > 0) {
		ret = find_cheapest(p, &o, err);
	} else {
		o = look_out(p, &p->core->env.order);
		judge(p, &o.settings, 0, everything, &o.quality, NULL);
	}
	if (ret < 0)
		return ret;
	print_dataset(p, text);
	print_outlook(p, &o, text);
	return p->wanted->svg ? draw(p, &o, err) : 0;
}

int sfs_plan(struct sfs_options *options, const struct sfs_strings *specs,
	     const struct sfs_plan_options *wanted, struct sfs_text *text,
	     struct sfs_error *err)
{
	struct plan p = {.wanted = wanted};
	uint32_t i;
	int ret;

	ret = sfs_core_start(options, specs, false, &p.core, err);
	if (ret < 0)
		return ret;
	p.n_shards = p.core->env.shards.n;
	p.tables = sfs_calloc(p.n_shards, sizeof *p.tables);
	p.n_samples = sfs_calloc(p.n_shards, sizeof *p.n_samples);
	p.base = sfs_calloc(p.n_shards, sizeof *p.base);
	ret = make_plan(&p, text, err);
	for (i = 0; i < p.n_shards; i++)
		sfs_table_done(&p.tables[i]);
	free(p.tables);
	free(p.n_samples);
	free(p.base);
	sfs_core_stop(p.core);
	return ret;
}
