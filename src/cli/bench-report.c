/* SPDX-License-Identifier: MIT */
/* How this works: each stage includes the work of those before it.  So the bottleneck is
 * the stage at which the rate drops most, or the first if it drops nowhere. */
#include "cli/bench-report.h"

#include "base/alloc.h"
#include "base/json-writer.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

#define GIB	    ((double)(1 << 30))
#define ALL_OF_IT   0.9	 /* measurements differ by that much */
#define ENDED	    0.75 /* the same, of a whole epoch with its beginning and end */
#define BUSY	    0.85 /* of all processors */
#define MIN_SECONDS 1
#define RATE_CHARS  32

const char *sfs_bench_stage_name(enum sfs_bench_stage stage)
{
	static const char *const names[] = {"source", "order",	"mount",
					    "mount2", "mount4", "cached"};

	return names[stage];
}

/* "0.243", "3.21": GB/s. */
static const char *gb(double bytes_per_s, char buf[RATE_CHARS])
{
	double x = bytes_per_s / 1e9;

	snprintf(buf, RATE_CHARS, x >= 1 ? "%.2f" : x >= 0.01 ? "%.3f" : "%.5f", x);
	return buf;
}

/* Processors that it keeps busy. */
static double n_own(const struct sfs_rate *rate)
{
	return rate->bytes_per_s / GIB * rate->cpu_s_per_gib;
}

/* Are all processors busy, whoever uses them? */
static bool is_busy(const struct sfs_bench_facts *f, enum sfs_bench_stage stage)
{
	const struct sfs_rate *rate = &f->rates[stage];

	return (rate->n_busy > n_own(rate) ? rate->n_busy : n_own(rate)) >=
	       BUSY * f->n_processors;
}

static bool is_local(const struct sfs_bench_facts *f)
{
	return f->n_local == f->n_shards;
}

/* The stage before that was measured; SFS_BENCH_N_STAGES: none. */
static enum sfs_bench_stage stage_before(const struct sfs_bench_facts *f,
					 enum sfs_bench_stage stage)
{
	while (stage > SFS_BENCH_STAGE_SOURCE)
		if (f->rates[--stage].is_there)
			return stage;
	return SFS_BENCH_N_STAGES;
}

static enum sfs_bench_stage last_stage(const struct sfs_bench_facts *f)
{
	return f->rates[SFS_BENCH_STAGE_MOUNT].is_there
		       ? SFS_BENCH_STAGE_MOUNT
		       : stage_before(f, SFS_BENCH_STAGE_MOUNT);
}

/* Did the epoch end so soon that most of it is its start? */
static bool is_short(const struct sfs_rate *rate)
{
	return rate->has_ended && rate->seconds < MIN_SECONDS;
}

static bool is_too_short(const struct sfs_bench_facts *f)
{
	int i;

	for (i = 0; i <= SFS_BENCH_STAGE_MOUNT; i++)
		if (is_short(&f->rates[i]))
			return true;
	return false;
}

enum sfs_bench_stage sfs_bench_report_limit(const struct sfs_bench_facts *f)
{
	enum sfs_bench_stage limit = SFS_BENCH_N_STAGES;
	double worst = 1, lowest = 0, rate, kept;
	int i;

	if (is_too_short(f))
		return SFS_BENCH_N_STAGES;
	for (i = 0; i <= SFS_BENCH_STAGE_MOUNT; i++) {
		/* While it fills its buffer, the rate is not its own. */
		if (!f->rates[i].is_there || f->rates[i].is_early)
			continue;
		rate = f->rates[i].bytes_per_s;
		if (limit == SFS_BENCH_N_STAGES) {
			limit = (enum sfs_bench_stage)i;
			lowest = rate;
			continue;
		}
		kept = rate / lowest;
		if (kept < worst && kept < (f->rates[i].has_ended ? ENDED : ALL_OF_IT)) {
			limit = (enum sfs_bench_stage)i;
			worst = kept;
		}
		lowest = rate < lowest ? rate : lowest;
	}
	return limit;
}

/* The rate of a steady state, or 0. */
static double steady(const struct sfs_rate *rate)
{
	return rate->is_early || is_short(rate) ? 0 : rate->bytes_per_s;
}

enum sfs_bench_stage sfs_bench_report_best(const struct sfs_bench_facts *f)
{
	static const enum sfs_bench_stage kinds[] = {
		SFS_BENCH_STAGE_CACHED, SFS_BENCH_STAGE_MOUNT, SFS_BENCH_STAGE_MOUNT2,
		SFS_BENCH_STAGE_MOUNT4}; /* the simplest first */
	double rate, most = 0;
	size_t i, n = 0;

	for (i = 0; i < SFS_COUNT(kinds); i++) {
		rate = steady(&f->rates[kinds[i]]);
		n += rate > 0;
		most = rate > most ? rate : most;
	}
	for (i = 0; n >= 2 && i < SFS_COUNT(kinds); i++)
		if (steady(&f->rates[kinds[i]]) >= ALL_OF_IT * most)
			return kinds[i];
	return SFS_BENCH_N_STAGES;
}

/* ---- sentences ---- */

/* "The source gives 3.20 GB/s, the order 2.90, the mount 2.10" */
static void say_rates(const struct sfs_bench_facts *f, struct sfs_strbuf *text)
{
	bool is_first = true;
	char buf[RATE_CHARS];
	int i;

	for (i = 0; i <= SFS_BENCH_STAGE_MOUNT; i++) {
		if (!f->rates[i].is_there)
			continue;
		sfs_strbuf_printf(text,
				  is_first ? "The %s delivers %s GB/s" : ", the %s %s",
				  sfs_bench_stage_name((enum sfs_bench_stage)i),
				  gb(f->rates[i].bytes_per_s, buf));
		is_first = false;
	}
}

/* "all 2 processors are busy, 0.5 of them with this" */
static void say_busy(const struct sfs_bench_facts *f, enum sfs_bench_stage stage,
		     struct sfs_strbuf *text)
{
	sfs_strbuf_printf(text, "all %d processors are busy, %.1f of them with this",
			  f->n_processors, n_own(&f->rates[stage]));
}

/* Was a later stage measured in its steady state? */
static bool has_steady_end(const struct sfs_bench_facts *f)
{
	enum sfs_bench_stage last = last_stage(f);

	return last != SFS_BENCH_STAGE_SOURCE && !f->rates[last].is_early;
}

static void say_source(const struct sfs_bench_facts *f, struct sfs_strbuf *text)
{
	char buf[RATE_CHARS];

	sfs_strbuf_printf(text, "The source delivers %s GB/s on %d %s",
			  gb(f->rates[SFS_BENCH_STAGE_SOURCE].bytes_per_s, buf),
			  f->n_connections, is_local(f) ? "threads" : "connections");
	if (has_steady_end(f))
		sfs_strbuf_printf(text, ", and the %s keeps up with it",
				  sfs_bench_stage_name(last_stage(f)));
	sfs_strbuf_puts(text, ": ");
	if (is_busy(f, SFS_BENCH_STAGE_SOURCE)) {
		say_busy(f, SFS_BENCH_STAGE_SOURCE, text);
		sfs_strbuf_puts(text, ", and are the limit.\n");
	} else if (is_local(f)) {
		sfs_strbuf_puts(text, "the disk is the limit.\n");
	} else {
		sfs_strbuf_puts(text,
				"the network or the server is the limit. If the server "
				"is far away, more connections= may help.\n");
	}
}

static void say_order(const struct sfs_bench_facts *f, struct sfs_strbuf *text)
{
	say_rates(f, text);
	sfs_strbuf_puts(text, ": shuffling is the limit; ");
	if (is_busy(f, SFS_BENCH_STAGE_ORDER)) {
		say_busy(f, SFS_BENCH_STAGE_ORDER, text);
		sfs_strbuf_puts(text, ".\n");
	} else {
		sfs_strbuf_printf(
			text,
			"it uses %.1f of %d processors and waits the rest of the time: "
			"more connections= or a larger budget= may help.\n",
			n_own(&f->rates[SFS_BENCH_STAGE_ORDER]), f->n_processors);
	}
}

static void say_mount(const struct sfs_bench_facts *f, struct sfs_strbuf *text)
{
	say_rates(f, text);
	sfs_strbuf_puts(
		text,
		": passing the bytes through the kernel to the reader is the limit");
	if (is_busy(f, SFS_BENCH_STAGE_MOUNT)) {
		sfs_strbuf_puts(text, "; ");
		say_busy(f, SFS_BENCH_STAGE_MOUNT, text);
		sfs_strbuf_puts(text, ".\n");
	} else {
		sfs_strbuf_puts(text,
				". One reader waits for each reply in turn; several "
				"readers, such as ranks or workers, get more.\n");
	}
}

/* It is the only stage, and not the source. */
static void say_alone(const struct sfs_bench_facts *f, struct sfs_strbuf *text)
{
	say_rates(f, text);
	sfs_strbuf_puts(text, ". To find the limit, run the earlier stages too.\n");
}

/* Which kind of reading is the fastest here. */
static void say_reading(const struct sfs_bench_facts *f, struct sfs_strbuf *text)
{
	static const char *const ways[SFS_BENCH_N_STAGES] = {
		[SFS_BENCH_STAGE_MOUNT] = "1 MiB or more at a time with O_DIRECT, or "
					  "mounted with -o direct_io",
		[SFS_BENCH_STAGE_MOUNT2] = "O_DIRECT with 2 reads of 1 MiB in flight",
		[SFS_BENCH_STAGE_MOUNT4] = "O_DIRECT with 4 reads of 1 MiB in flight",
		[SFS_BENCH_STAGE_CACHED] = "through the page cache, one reader",
	};
	const struct sfs_rate *cached = &f->rates[SFS_BENCH_STAGE_CACHED];
	enum sfs_bench_stage best = sfs_bench_report_best(f);
	char buf[RATE_CHARS];

	if (best == SFS_BENCH_N_STAGES)
		return;
	sfs_strbuf_printf(text, "The way to read it here is %s: %s GB/s", ways[best],
			  gb(f->rates[best].bytes_per_s, buf));
	if (best != SFS_BENCH_STAGE_CACHED && cached->is_there)
		sfs_strbuf_printf(text, "; through the page cache a reader gets %s",
				  gb(cached->bytes_per_s, buf));
	sfs_strbuf_puts(text, ".\n");
}

/* What the numbers alone do not say. */
static void say_notes(const struct sfs_bench_facts *f, struct sfs_strbuf *text)
{
	const struct sfs_rate *whole = &f->rates[SFS_BENCH_STAGE_MOUNT];
	const char *separator = "The epoch ended early (";
	int i;

	if (!whole->is_there)
		whole = &f->rates[SFS_BENCH_STAGE_ORDER];
	if (whole->is_there)
		sfs_strbuf_printf(text, "The first sample arrived after %.2f s.\n",
				  whole->first_s);
	for (i = 0; i < SFS_BENCH_N_STAGES; i++) {
		if (!f->rates[i].has_ended)
			continue;
		sfs_strbuf_printf(text, "%s%s", separator,
				  sfs_bench_stage_name((enum sfs_bench_stage)i));
		separator = ", ";
	}
	if (separator[0] == ',') /* there were some */
		sfs_strbuf_printf(text,
				  "): the dataset is too small for %g s per stage, so "
				  "these rates include the start and the end.\n",
				  f->wanted_s);
	for (i = 0; i < SFS_BENCH_N_STAGES; i++)
		if (f->rates[i].is_early)
			sfs_strbuf_printf(
				text,
				"The %s stage was still filling its buffer: a run longer "
				"than --seconds=%g would show a higher rate.\n",
				sfs_bench_stage_name((enum sfs_bench_stage)i),
				f->wanted_s);
	for (i = 0; i < SFS_BENCH_N_STAGES; i++)
		if (f->absent[i])
			sfs_strbuf_printf(text, "The %s stage was skipped: %s.\n",
					  sfs_bench_stage_name((enum sfs_bench_stage)i),
					  f->absent[i]);
	if (f->huge_pages_off)
		sfs_strbuf_printf(text,
				  "Huge pages are off, which may cost a third of the "
				  "rate: %s.\n",
				  f->huge_pages_off);
	if (f->n_local > 0)
		sfs_strbuf_puts(text, "Local files in the page cache were read from "
				      "memory, not from disk.\n");
}

void sfs_bench_report_say(const struct sfs_bench_facts *f, struct sfs_strbuf *text)
{
	enum sfs_bench_stage limit = sfs_bench_report_limit(f);

	if (is_too_short(f))
		sfs_strbuf_puts(text, "The epoch takes less than a second: too short to "
				      "find the limit.\n");
	if (limit == SFS_BENCH_STAGE_SOURCE)
		say_source(f, text);
	else if (limit != SFS_BENCH_N_STAGES &&
		 stage_before(f, limit) == SFS_BENCH_N_STAGES)
		say_alone(f, text);
	else if (limit == SFS_BENCH_STAGE_ORDER)
		say_order(f, text);
	else if (limit == SFS_BENCH_STAGE_MOUNT)
		say_mount(f, text);
	say_reading(f, text);
	say_notes(f, text);
}

/* ---- the whole ---- */

static double samples_per_s(const struct sfs_bench_facts *f, const struct sfs_rate *rate)
{
	return f->sample_bytes > 0 ? rate->bytes_per_s / f->sample_bytes : 0;
}

static void add_row(const struct sfs_bench_facts *f, enum sfs_bench_stage stage,
		    struct sfs_strbuf *text)
{
	const struct sfs_rate *rate = &f->rates[stage];
	char speed[RATE_CHARS], samples[RATE_CHARS] = "-";

	if (f->sample_bytes > 0)
		snprintf(samples, sizeof samples, "%.0f", samples_per_s(f, rate));
	sfs_strbuf_printf(text, "%-8s %8s %11s %10.2f %8.2f s %8.1f s\n",
			  sfs_bench_stage_name(stage), gb(rate->bytes_per_s, speed),
			  samples, rate->cpu_s_per_gib, rate->first_s, rate->seconds);
}

void sfs_bench_report_table(const struct sfs_bench_facts *f, struct sfs_strbuf *text)
{
	int i;

	sfs_strbuf_printf(text, "%s: %" PRIu32 " shards\n", f->dataset, f->n_shards);
	sfs_strbuf_printf(
		text,
		"reach    first response after %.3f s, then %.0f sizes per second\n",
		f->reach_s, f->sizes_per_s);
	if (last_stage(f) != SFS_BENCH_N_STAGES)
		sfs_strbuf_puts(text,
				"stage        GB/s   samples/s  CPU s/GiB      first  "
				"     took\n");
	for (i = 0; i < SFS_BENCH_N_STAGES; i++)
		if (f->rates[i].is_there)
			add_row(f, (enum sfs_bench_stage)i, text);
	sfs_bench_report_say(f, text);
}

static void add_json_stage(const struct sfs_bench_facts *f, enum sfs_bench_stage stage,
			   struct sfs_json_writer *w)
{
	const struct sfs_rate *rate = &f->rates[stage];

	sfs_json_open(w, NULL, '{');
	sfs_json_put_string(w, "stage", sfs_bench_stage_name(stage));
	if (!rate->is_there) {
		sfs_json_put_string(w, "left_out", f->absent[stage]);
		sfs_json_close(w, '}');
		return;
	}
	sfs_json_put_double(w, "bytes_per_s", 0, rate->bytes_per_s);
	if (f->sample_bytes > 0)
		sfs_json_put_double(w, "samples_per_s", 3, samples_per_s(f, rate));
	else
		sfs_json_put_string(w, "samples_per_s", NULL);
	sfs_json_put_double(w, "cpu_s_per_gib", 4, rate->cpu_s_per_gib);
	sfs_json_put_double(w, "processors_busy", 2, rate->n_busy);
	sfs_json_put_double(w, "first_s", 6, rate->first_s);
	sfs_json_put_double(w, "seconds", 6, rate->seconds);
	sfs_json_put_uint(w, "bytes", rate->n_bytes);
	sfs_json_put_bool(w, "epoch_ended", rate->has_ended);
	sfs_json_put_bool(w, "still_filling", rate->is_early);
	sfs_json_close(w, '}');
}

static void add_json_reach(const struct sfs_bench_facts *f, struct sfs_json_writer *w)
{
	sfs_json_open(w, NULL, '{');
	sfs_json_put_string(w, "stage", "reach");
	sfs_json_put_double(w, "first_s", 6, f->reach_s);
	sfs_json_put_double(w, "sizes_per_s", 1, f->sizes_per_s);
	sfs_json_close(w, '}');
}

/* All sentences on one line. */
static void add_json_verdict(const struct sfs_bench_facts *f, struct sfs_json_writer *w)
{
	struct sfs_strbuf verdict = {0};
	size_t i;

	sfs_bench_report_say(f, &verdict);
	for (i = 0; i < verdict.n; i++)
		if (verdict.s[i] == '\n')
			verdict.s[i] = i + 1 < verdict.n ? ' ' : 0;
	sfs_json_put_string(w, "verdict", verdict.s ? verdict.s : "");
	sfs_strbuf_done(&verdict);
}

void sfs_bench_report_json(const struct sfs_bench_facts *f, struct sfs_strbuf *text)
{
	enum sfs_bench_stage limit = sfs_bench_report_limit(f);
	struct sfs_json_writer w = {.text = text};
	int i;

	sfs_json_open(&w, NULL, '{');
	sfs_json_put_string(&w, "dataset", f->dataset);
	sfs_json_put_uint(&w, "shards", f->n_shards);
	sfs_json_put_uint(&w, "connections", (uint64_t)f->n_connections);
	sfs_json_put_uint(&w, "processors", (uint64_t)f->n_processors);
	sfs_json_put_string(&w, "huge_pages_off", f->huge_pages_off);
	sfs_json_open(&w, "stages", '[');
	add_json_reach(f, &w);
	for (i = 0; i < SFS_BENCH_N_STAGES; i++)
		if (f->rates[i].is_there || f->absent[i])
			add_json_stage(f, (enum sfs_bench_stage)i, &w);
	sfs_json_close(&w, ']');
	sfs_json_put_string(&w, "limit",
			    limit == SFS_BENCH_N_STAGES ? NULL
							: sfs_bench_stage_name(limit));
	add_json_verdict(f, &w);
	sfs_json_close(&w, '}');
	sfs_strbuf_puts(text, "\n");
}
