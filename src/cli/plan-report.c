/* SPDX-License-Identifier: MIT */
#include "cli/plan-report.h"

#include "config/options.h"
#include "engine/engine.h"
#include "order/name.h"

#include <inttypes.h>
#include <stdio.h>

static void print_dataset(const struct sfs_plan_dataset *d, struct sfs_strbuf *text)
{
	char size[32];

	sfs_strbuf_printf(text, "%-16s%u shard%s, %s bytes, %s%" PRIu64 " samples%s\n",
			  "dataset", d->n_shards, d->n_shards == 1 ? "" : "s",
			  sfs_format_size(d->n_bytes, size),
			  d->n_counted == d->n_shards ? "" : "about ", d->n_all,
			  d->n_counted == d->n_shards ? ""
			  : d->is_said ? " (by the counts of an index; --exact counts "
					 "all)"
				       : " (estimated from three shards; --exact counts "
					 "all)");
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

	sfs_strbuf_printf(text, "seed=%" PRIu64 ",lanes=%u,buffer=%s,segment=", s->seed,
			  s->lanes, exact_size(s->buffer_bytes, size));
	sfs_options_print_segment(s->segment, text);
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
				  : sfs_order_deals_shards(&e->settings)    ? "shard"
									    : "segment");
	sfs_strbuf_printf(text, "\n");
}

static void print_worth(const struct sfs_plan_dataset *d, const char *what, double worth,
			struct sfs_strbuf *text)
{
	sfs_strbuf_printf(text, "  %-14s%.0f%s\n", what, worth,
			  worth >= d->batch ? " (as good as a random batch, or better)"
					    : "");
}

static void print_rank(const struct sfs_plan_dataset *d, const struct sfs_quality *q,
		       struct sfs_strbuf *text)
{
	char what[40];

	if (d->n_ranks == 0)
		return;
	snprintf(what, sizeof what, "rank 0 of %u", d->n_ranks);
	if (q->n_batches > 0)
		print_worth(d, what, q->whole, text);
	else
		sfs_strbuf_printf(text, "  %-14shas fewer samples than a batch\n", what);
}

static void print_meetings(const char *what, const struct sfs_plan_lift *lift,
			   uint32_t n_epochs, struct sfs_strbuf *text)
{
	sfs_strbuf_printf(text, "  %-14s%.2f in the next epoch", what, lift->next);
	if (n_epochs > 2)
		sfs_strbuf_printf(text, ", %.2f on average in epochs 1 to %u", lift->mean,
				  n_epochs - 1);
	sfs_strbuf_puts(text, "\n");
}

static void print_lifts(const struct sfs_plan_dataset *d,
			const struct sfs_plan_estimate *e, struct sfs_strbuf *text)
{
	const struct sfs_plan_lifts *lifts = &e->lifts;
	char what[40];

	if (lifts->n_epochs == 0) {
		sfs_strbuf_printf(
			text, "%-16snot computed for this many samples; use --exact\n",
			"lift");
		return;
	}
	sfs_strbuf_printf(text,
			  "%-16show many times as often as by chance two samples of a "
			  "batch meet again:\n",
			  "lift");
	print_meetings("whole epoch", &lifts->whole, lifts->n_epochs, text);
	if (d->n_ranks == 0 || e->rank.n_batches == 0)
		return;
	snprintf(what, sizeof what, "%u rank%s", d->n_ranks, d->n_ranks == 1 ? "" : "s");
	print_meetings(what, &lifts->rank, lifts->n_epochs, text);
}

static void print_quality(const struct sfs_plan_dataset *d,
			  const struct sfs_plan_estimate *e, struct sfs_strbuf *text)
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
	print_rank(d, &e->rank, text);
	sfs_strbuf_printf(text, "%-16s%.1f per batch, on average\n", "shards",
			  e->quality.n_shards);
	print_lifts(d, e, text);
}

static uint64_t n_requests(const struct sfs_plan_dataset *d,
			   const struct sfs_plan_estimate *e)
{
	return e->n_slices + d->n_bytes / e->part_bytes + d->n_shards;
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
			  n_requests(d, e),
			  e->settings.segment == SFS_SEGMENT_SHARD ? "" : "at most ",
			  sfs_format_size(e->part_bytes, part));
	sfs_strbuf_printf(text, "%-16s", "resume");
	sfs_name_print_resume(&e->settings, text);
	sfs_strbuf_puts(text, "\n");
}

/* ---- other settings ---- */

static void print_row(const struct sfs_plan_dataset *d, const char *name,
		      const struct sfs_plan_estimate *e, struct sfs_strbuf *text)
{
	char size[32];

	sfs_strbuf_printf(text, "  %-14s%8.2f%8.0f", name, e->lifts.whole.next,
			  e->quality.whole);
	if (d->n_ranks > 0)
		sfs_strbuf_printf(text, "%14.2f%8.0f", e->lifts.rank.next, e->rank.whole);
	sfs_strbuf_printf(text, "%10s%12" PRIu64 "\n",
			  sfs_format_size(e->memory_bytes >> 20 << 20, size),
			  n_requests(d, e));
}

/* The option in which they differ. */
static void print_other(const struct sfs_plan_dataset *d,
			const struct sfs_order_settings *now,
			const struct sfs_plan_estimate *other, struct sfs_strbuf *text)
{
	struct sfs_strbuf name = {0};
	char size[32];

	if (other->settings.lanes != now->lanes) {
		sfs_strbuf_printf(&name, "lanes=%u", other->settings.lanes);
	} else if (other->settings.buffer_bytes != now->buffer_bytes) {
		sfs_strbuf_printf(&name, "buffer=%s",
				  exact_size(other->settings.buffer_bytes, size));
	} else {
		sfs_strbuf_puts(&name, "segment=");
		sfs_options_print_segment(other->settings.segment, &name);
	}
	print_row(d, name.s, other, text);
	sfs_strbuf_done(&name);
}

static void print_others(const struct sfs_plan_dataset *d,
			 const struct sfs_plan_estimate *e,
			 const struct sfs_plan_estimate *others, size_t n_others,
			 struct sfs_strbuf *text)
{
	bool deals_shards = sfs_order_deals_shards(&e->settings), needs_headers = false;
	char what[40] = "";
	size_t i;

	if (n_others == 0)
		return;
	if (d->n_ranks > 0)
		snprintf(what, sizeof what, "%14s%8s", "a rank's lift", "worth");
	sfs_strbuf_printf(
		text, "%-16schange one of these; the lift is that of the next epoch:\n",
		"for less lift");
	sfs_strbuf_printf(text, "%-16s%8s%8s%s%10s%12s\n", "", "lift", "worth", what,
			  "memory", "requests");
	print_row(d, "as above", e, text);
	for (i = 0; i < n_others; i++) {
		print_other(d, &e->settings, &others[i], text);
		needs_headers |=
			deals_shards && !sfs_order_deals_shards(&others[i].settings);
	}
	if (needs_headers)
		sfs_strbuf_puts(text, "  (segment= reads the headers of all shards "
				      "first, unless there are indexes)\n");
}

void sfs_plan_report(struct sfs_plan_dataset *d, const struct sfs_plan_estimate *e,
		     const struct sfs_plan_estimate *others, size_t n_others,
		     struct sfs_strbuf *text)
{
	print_dataset(d, text);
	print_order(e, text);
	print_quality(d, e, text);
	print_cost(d, e, text);
	sfs_strbuf_printf(text, "%-16s-o ", "mount with");
	sfs_plan_print_settings(&e->settings, text);
	sfs_strbuf_printf(text, "\n");
	print_others(d, e, others, n_others, text);
}
