/* SPDX-License-Identifier: MIT */
#include "cli/plan-report.h"

#include "config/options.h"
#include "engine/engine.h"

#include <inttypes.h>
#include <stdio.h>

static void print_dataset(const struct sfs_plan_dataset *d, struct sfs_strbuf *text)
{
	char size[32];

	sfs_strbuf_printf(text, "%-16s%u shards, %s bytes, %s%" PRIu64 " samples%s\n",
			  "dataset", d->n_shards, sfs_format_size(d->n_bytes, size),
			  d->n_counted == d->n_shards ? "" : "about ", d->n_all,
			  d->n_counted == d->n_shards
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

void sfs_plan_print_settings(const struct sfs_order_settings *s, struct sfs_strbuf *text)
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

static void print_order(const struct sfs_plan_estimate *e, struct sfs_strbuf *text)
{
	sfs_strbuf_printf(text, "%-16s", "order");
	sfs_plan_print_settings(&e->settings, text);
	if (e->n_lanes < e->settings.lanes)
		sfs_strbuf_printf(text, "; one %s per lane, as there are no more",
				  sfs_order_wants_equal_lanes(&e->settings) ? "sample"
									    : "shard");
	sfs_strbuf_printf(text, "\n");
}

static void print_worth(const struct sfs_plan_dataset *d, const char *what, double worth,
			struct sfs_strbuf *text)
{
	sfs_strbuf_printf(text, "  %-14s%.0f%s\n", what, worth,
			  worth >= d->batch ? " (as good as a random batch, or better)"
					    : "");
}

static void print_lift(struct sfs_plan_dataset *d, const struct sfs_plan_estimate *e,
		       struct sfs_strbuf *text)
{
	if (sfs_plan_is_sampled(d, d->n_all)) {
		sfs_strbuf_printf(
			text, "%-16snot computed for this many samples; use --exact\n",
			"co-batch lift");
		return;
	}
	sfs_strbuf_printf(
		text,
		"%-16s%.2f times the chance level: how often two samples of a batch\n"
		"%-16sshare one in the next epoch\n",
		"co-batch lift", sfs_plan_lift(d, &e->settings), "");
}

static void print_rank(struct sfs_plan_dataset *d, const struct sfs_plan_estimate *e,
		       uint32_t n_ranks, struct sfs_strbuf *text)
{
	struct sfs_quality q;
	char what[40];

	sfs_plan_judge_rank(d, &e->settings, n_ranks, &q);
	snprintf(what, sizeof what, "rank 0 of %u", n_ranks);
	if (q.n_batches > 0)
		print_worth(d, what, q.whole, text);
	else
		sfs_strbuf_printf(text, "  %-14shas fewer samples than a batch\n", what);
}

static void print_quality(struct sfs_plan_dataset *d, const struct sfs_plan_estimate *e,
			  uint32_t n_ranks, struct sfs_strbuf *text)
{
	sfs_strbuf_printf(text,
			  "%-16sis worth this many independent samples, if each shard is "
			  "one class:\n",
			  "a batch");
	if (e->quality.n_samples < d->n_all / 2)
		sfs_strbuf_printf(text,
				  "  %-14sfrom %" PRIu64
				  " samples at %d places and at the end; "
				  "--exact plays all\n",
				  "estimated", e->quality.n_samples, SFS_PLAN_PLACES);
	sfs_strbuf_printf(text, "  %-14s%u\n", "of", d->batch);
	print_worth(d, "whole epoch", e->quality.whole, text);
	print_worth(d, "first batch", e->quality.first, text);
	print_worth(d, "worst tenth", e->quality.worst_tenth, text);
	if (n_ranks > 0)
		print_rank(d, e, n_ranks, text);
	sfs_strbuf_printf(text, "%-16s%.1f per batch, on average\n", "shards",
			  e->quality.n_shards);
	print_lift(d, e, text);
}

static void print_cost(struct sfs_plan_dataset *d, const struct sfs_plan_estimate *e,
		       struct sfs_strbuf *text)
{
	char memory[32], part[32];

	sfs_strbuf_printf(
		text, "%-16sabout %s per stream, of budget=%s\n", "memory",
		sfs_format_size(e->memory_bytes >> 20 << 20, memory),
		sfs_format_size(d->engine->runtime.budget.total_bytes >> 20 << 20, part));
	sfs_strbuf_printf(text, "%-16s%d\n", "connections",
			  d->engine->runtime.n_connections);
	sfs_strbuf_printf(text, "%-16sabout %" PRIu64 " per epoch, of %s%s\n", "requests",
			  e->n_slices + d->n_bytes / e->part_bytes + d->n_shards,
			  e->settings.segment == SFS_SEGMENT_SHARD ? "" : "at most ",
			  sfs_format_size(e->part_bytes, part));
	sfs_strbuf_printf(
		text,
		"%-16sfor %.0f%% of the epoch, any number of ranks that divides "
		"lanes\n%-16sreads the same order\n",
		"elastic", 100.0 * (double)e->n_even / (double)d->n_all, "");
}

void sfs_plan_report(struct sfs_plan_dataset *d, const struct sfs_plan_estimate *e,
		     uint32_t n_ranks, struct sfs_strbuf *text)
{
	print_dataset(d, text);
	print_order(e, text);
	print_quality(d, e, n_ranks, text);
	print_cost(d, e, text);
	sfs_strbuf_printf(text, "%-16s-o ", "mount with");
	sfs_plan_print_settings(&e->settings, text);
	sfs_strbuf_printf(text, "\n");
}
