/* SPDX-License-Identifier: MIT */
#include "cli/bench-order.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/ledger.h"
#include "base/stall.h"
#include "cli/reader.h"
#include "engine/engine.h"
#include "order/order.h"
#include "stream/prefetch/sizing.h"
#include "tree/file.h"
#include "tree/tree.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#define READ_BYTES ((size_t)1 << 20)

/* The bytes that a stream has fetched when its buffer is full. */
static uint64_t fill_bytes(const struct sfs_engine *engine)
{
	const struct sfs_runtime *runtime = &engine->runtime;
	uint64_t lanes = sfs_order_most_lanes(&runtime->order, runtime->shards.n);
	struct sfs_netpath path = sfs_runtime_path(runtime);
	uint64_t part = sfs_sizing_part(&path, runtime->budget.limit_bytes, lanes);
	uint64_t n = sfs_sizing_stream(&path, lanes, runtime->order.buffer_bytes / lanes,
				       part);

	return n < runtime->budget.total_bytes ? n : runtime->budget.total_bytes;
}

static uint64_t fetched_bytes(const struct sfs_engine *engine)
{
	struct sfs_source_counts counts = {0};

	sfs_source_count(engine->files, &counts);
	sfs_source_count(engine->http, &counts);
	return counts.n_bytes;
}

/* Read until the time is up, or the samples have ended (1). */
static int measure_reader(const struct sfs_bench_run *run, struct sfs_engine *engine,
			  struct sfs_file *file, struct sfs_reader *reader,
			  struct sfs_ratemeter *m)
{
	uint64_t enough = fetched_bytes(engine) + fill_bytes(engine);
	struct sfs_cause cause = {.offset = SFS_NO_OFFSET};
	uint64_t responded_ns = sfs_clock_ns();
	uint64_t n_bytes = 0, shown_ns = 0, now_ns, padding;
	const struct sfs_read *read = NULL;
	int ret;

	for (;;) {
		ret = sfs_reader_next(reader, SFS_BENCH_LOOK_MS, &read);
		if (ret < 0 && ret != -EAGAIN)
			return ret;
		n_bytes += ret == 0 ? read->n_answered : 0;
		padding = sfs_file_padding(file);
		now_ns = sfs_clock_ns();
		if (ret == 0)
			responded_ns = now_ns;
		if (now_ns >= sfs_stall_deadline(responded_ns)) {
			sfs_reader_explain(reader, &cause);
			sfs_cause_note(&cause, sfs_stall_limit_ns(), "");
			return -ETIMEDOUT;
		}
		ret = n_bytes >= padding || (ret == 0 && read->n_answered == 0);
		if (ret == 0 && n_bytes > 0 &&
		    now_ns - shown_ns < SFS_BENCH_LOOK_MS * SFS_NS_PER_MS)
			continue;
		shown_ns = now_ns;
		m->is_filling = fetched_bytes(engine) < enough;
		sfs_ratemeter_mark(m, now_ns, n_bytes < padding ? n_bytes : padding,
				   sfs_bench_cpu());
		if (ret == 1 || sfs_ratemeter_is_over(m, now_ns))
			return ret;
		sfs_bench_show(run, SFS_BENCH_STAGE_ORDER, m);
	}
}

/* The mean size of its samples; 0: not known. */
static double sample_bytes(struct sfs_tree *tree, const char *path, uint64_t n_bytes)
{
	struct sfs_strbuf text = {0};
	double n = 0;
	char name[64];
	uint64_t node;

	snprintf(name, sizeof name, "user.shufflefs.sample-at.%" PRIu64, n_bytes);
	if (sfs_tree_walk(tree, path, &node) == 0 &&
	    sfs_tree_xattr(tree, node, name, NULL, &text) == 0)
		n = strtod(text.s, NULL);
	sfs_strbuf_done(&text);
	return n > 0 ? (double)n_bytes / n : 0;
}

static int measure_stream(const struct sfs_bench_run *run, struct sfs_tree *tree,
			  const char *path, struct sfs_ratemeter *m,
			  struct sfs_bench_facts *facts, struct sfs_error *err)
{
	struct sfs_rate *rate = &facts->rates[SFS_BENCH_STAGE_ORDER];
	struct sfs_reader reader;
	struct sfs_file *file;
	int ret;

	ret = sfs_file_open_path(tree, path, &file, err);
	if (ret < 0)
		return ret;
	sfs_reader_begin(&reader, file, 0, READ_BYTES, 2);
	ret = measure_reader(run, sfs_tree_engine(tree), file, &reader, m);
	*rate = sfs_ratemeter_end(m, ret == 1, 0);
	if (ret < 0) {
		sfs_ledger_why(path, ret, err);
		sfs_error_wrap(err, ret, "%s: read error at byte %" PRIu64, path,
			       rate->n_bytes);
	}
	rate->is_there = ret >= 0;
	facts->fill_s = m->warm.ns ? (double)(m->warm.ns - m->first_ns) / SFS_NS_PER_S
				   : rate->seconds;
	facts->epoch_bytes = ret == 1 ? rate->n_bytes : 0;
	facts->sample_bytes = ret < 0 ? 0 : sample_bytes(tree, path, rate->n_bytes);
	sfs_reader_done(&reader);
	sfs_file_close(file);
	return ret < 0 ? ret : 0;
}

int sfs_bench_order(const struct sfs_bench_run *run, uint64_t epoch,
		    struct sfs_bench_facts *facts, struct sfs_error *err)
{
	sfs_autofree char *path = sfs_asprintf("epochs/%" PRIu64 ".tar", epoch);
	struct sfs_tree *tree;
	struct sfs_engine *engine;
	struct sfs_ratemeter meter;
	int ret;

	sfs_ratemeter_begin(&meter, run->wanted_ns, sfs_clock_ns(), sfs_bench_cpu());
	sfs_bench_show(run, SFS_BENCH_STAGE_ORDER, &meter);
	ret = sfs_engine_start(run->options, run->specs, false, &engine, err);
	if (ret < 0)
		return ret;
	tree = sfs_tree_new(engine);
	ret = measure_stream(run, tree, path, &meter, facts, err);
	sfs_engine_stop(engine);
	sfs_tree_free(tree);
	sfs_engine_free(engine);
	return ret;
}
