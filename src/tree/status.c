/* SPDX-License-Identifier: MIT */
#include "tree/status.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/json-writer.h"
#include "base/ledger.h"
#include "memory/huge.h"
#include "memory/slab.h"
#include "order/name.h"
#include "stream/prefetch/prefetch.h"

#include <sys/stat.h>
#include <unistd.h>

/* ---- the numbers, once for both formats ---- */

/* Prometheus wants seconds and ratios for times and shares; JSON has whole numbers. */
enum unit { PLAIN, NS, US, MS, PERCENT };

static const struct {
	const char *in_json, *in_metrics; /* the ends of names */
	uint64_t divisor;
	int n_digits;
} units[] = {
	[PLAIN] = {"", "", 1, 0},
	[NS] = {"_ns", "_seconds", 1000000000, 9},
	[US] = {"_us", "_seconds", 1000000, 6},
	[MS] = {"_ms", "_seconds", 1000, 3},
	[PERCENT] = {"", "_ratio", 100, 2},
};

struct number {
	const char *name; /* Prometheus gets shufflefs_ before it */
	const char *help; /* for Prometheus */
	bool is_counter;
	uint64_t value;
	enum unit unit;
};

enum { MAX_NUMBERS = 64 };

/* Of all streams since the mount; nobody waits while it is idle. */
static const struct number waits[SFS_N_WAITS] = {
	[SFS_WAIT_READER] = {"waits_reader", "Time that streams waited for their reader.",
			     true, 0, NS},
	[SFS_WAIT_SOURCE] = {"waits_source",
			     "Time that reads waited for servers to respond.", true, 0,
			     NS},
	[SFS_WAIT_NETWORK] = {"waits_network",
			      "Time that reads waited for data in transit.", true, 0, NS},
	[SFS_WAIT_BUDGET] = {"waits_budget", "Time that reads waited for memory.", true,
			     0, NS},
	[SFS_WAIT_CPU] = {"waits_cpu", "Time that reads waited for processing.", true, 0,
			  NS},
	[SFS_WAIT_BLOCK] = {"waits_block",
			    "Time that reads waited for the first blocks to fill.", true,
			    0, NS},
};

static int collect(struct sfs_engine *engine, struct number *n)
{
	struct sfs_runtime *runtime = &engine->runtime;
	struct sfs_netpath path = sfs_runtime_path(runtime);
	struct sfs_counters *c = &runtime->counters;
	struct sfs_source_counts counts = {0};
	struct sfs_slabs_memory slabs = sfs_slabs_memory(runtime->slabs);
	int i = 0, k;

	sfs_source_count(engine->files, &counts);
	sfs_source_count(engine->http, &counts);
#define IN(...)	    n[i++] = (struct number){__VA_ARGS__}
#define NUMBER(...) IN(__VA_ARGS__, PLAIN)
	IN("uptime", "Time since the mount.", false,
	       (sfs_clock_ns() - engine->started_ns) / SFS_NS_PER_MS, MS);
	NUMBER("shards", "Shards of the dataset.", false, runtime->shards.n);
	NUMBER("shards_sized", "Shards whose size is known.", false,
	       sfs_sizes_known(engine->sizes));
	NUMBER("delivered_bytes", "Bytes of streams delivered to readers.", true,
	       atomic_load(&c->delivered_bytes));
	NUMBER("reads", "Reads of streams answered.", true, atomic_load(&c->reads));
	NUMBER("reads_waited", "Reads of streams that had to wait.", true,
	       atomic_load(&c->reads_waited));
	IN("reads_waited", "Time that readers of streams waited.", true,
	       atomic_load(&c->waited_ns), NS);
	NUMBER("reads_random", "Random reads of streams, far from every position.", true,
	       atomic_load(&c->reads_far));
	NUMBER("renamed_samples", "Samples that keys=auto moved into a folder.", true,
	       atomic_load(&c->renamed));
	NUMBER("fetched_bytes", "Bytes fetched from sources.", true, counts.n_bytes);
	NUMBER("requests", "Requests to sources that have ended.", true,
	       counts.n_requests);
	NUMBER("requests_failed",
	       "Requests to sources that failed for good; each has a line in errors.",
	       true, counts.n_failed);
	NUMBER("requests_parallel", "Requests that are useful at a time now.", false,
	       (uint64_t)path.n_parallel);
	IN("round_trip", "Round trip to the farthest server.", false,
	       path.rtt_ns / 1000, US);
	IN("first_byte", "Recent minimum time to first byte of the slowest server.",
	       false, path.wait_ns / 1000, US);
	NUMBER("hedges", "Late requests that were sent a second time.", true,
	       counts.n_hedges);
	NUMBER("hedged_bytes", "Bytes received twice because of hedges.", true,
	       counts.hedged_bytes);
	NUMBER("budget_bytes", "Memory for data, in all.", false,
	       runtime->budget.total_bytes);
	NUMBER("budget_limit_bytes", "Memory for data that may be used now.", false,
	       runtime->budget.limit_bytes);
	IN("memory_pressure",
	       "Share of the last ten seconds in which processes waited for memory.",
	       false, sfs_reclaim_pressure_percent(&engine->reclaim), PERCENT);
	NUMBER("budget_used_bytes", "Memory for data that is in use now.", false,
	       sfs_budget_used(&runtime->budget));
	NUMBER("slab_bytes", "Memory that data have, in use or ready.", false,
	       slabs.held_bytes);
	NUMBER("slab_filled_bytes", "The part of it for which huge pages were wanted.",
	       false, slabs.filled_bytes);
	NUMBER("huge_page_bytes", "Memory of the mount that lies in huge pages.", false,
	       sfs_slabs_refusal(runtime->slabs) ? 0 : sfs_huge_bytes());
	NUMBER("part_bytes", "Size of the parts that are requested now.", false,
	       sfs_prefetch_part_bytes(runtime));
	NUMBER("events_retry", "Requests that were retried.", true,
	       sfs_ledger_count(SFS_EVENT_RETRY));
	NUMBER("events_outage", "Server outages that began or ended.", true,
	       sfs_ledger_count(SFS_EVENT_OUTAGE));
	NUMBER("events_skip", "Damage that was skipped.", true,
	       sfs_ledger_count(SFS_EVENT_SKIP));
	NUMBER("events_lost", "Errors that readers received.", true,
	       sfs_ledger_count(SFS_EVENT_LOST));
	NUMBER("events_changed", "Shards that changed after the mount began.", true,
	       sfs_ledger_count(SFS_EVENT_CHANGED));
	NUMBER("events_refused", "Names that were looked up and refused.", true,
	       sfs_ledger_count(SFS_EVENT_REFUSED));
	NUMBER("events_empty", "Names that were looked up and are beyond the last sample.",
	       true, sfs_ledger_count(SFS_EVENT_EMPTY));
#undef NUMBER
#undef IN
	for (k = SFS_WAIT_IDLE + 1; k < SFS_N_WAITS; k++) {
		n[i] = waits[k];
		n[i++].value = atomic_load(&c->waits.ns[k]);
	}
	return i;
}

void sfs_status_stats(struct sfs_engine *engine, struct sfs_strbuf *text)
{
	struct number numbers[MAX_NUMBERS];
	struct sfs_json_writer w = {.text = text};
	struct stat st;
	int n = collect(engine, numbers), i;

	sfs_json_open(&w, NULL, '{');
	sfs_json_put_string(&w, "version", VERSION);
	sfs_json_put_uint(&w, "pid", (uint64_t)getpid());
	if (stat("/proc/self/ns/pid", &st) == 0)
		sfs_json_put_uint(&w, "pid_namespace", (uint64_t)st.st_ino);
	sfs_json_put_string(&w, "huge_pages_off",
			    sfs_slabs_refusal(engine->runtime.slabs));
	sfs_json_newline(&w);
	sfs_json_open(&w, "sources", '[');
	for (i = 0; i < engine->specs.n; i++)
		sfs_json_put_string(&w, NULL, engine->specs.s[i]);
	sfs_json_close(&w, ']');
	for (i = 0; i < n; i++) {
		sfs_autofree char *name = sfs_asprintf("%s%s", numbers[i].name,
						       units[numbers[i].unit].in_json);

		sfs_json_newline(&w);
		sfs_json_put_uint(&w, name, numbers[i].value);
	}
	sfs_json_newline(&w);
	sfs_json_open(&w, "streams", '[');
	sfs_streams_print(&engine->streams, &w);
	sfs_json_close(&w, ']');
	sfs_json_close(&w, '}');
	sfs_strbuf_puts(text, "\n");
}

static void print_metric(const struct number *m, const char *labels,
			 struct sfs_strbuf *text)
{
	uint64_t divisor = units[m->unit].divisor;
	sfs_autofree char *name =
		sfs_asprintf("shufflefs_%s%s%s", m->name, units[m->unit].in_metrics,
			     m->is_counter ? "_total" : "");

	sfs_strbuf_printf(text, "# HELP %s %s\n# TYPE %s %s\n%s%s %llu", name, m->help,
			  name, m->is_counter ? "counter" : "gauge", name, labels,
			  (unsigned long long)(m->value / divisor));
	if (divisor > 1)
		sfs_strbuf_printf(text, ".%0*llu", units[m->unit].n_digits,
				  (unsigned long long)(m->value % divisor));
	sfs_strbuf_puts(text, "\n");
}

/* The numbers of several mounts may be collected as one: a label says whose they are. */
void sfs_status_metrics(struct sfs_engine *engine, struct sfs_strbuf *text)
{
	struct number numbers[MAX_NUMBERS];
	int n = collect(engine, numbers), i;
	struct sfs_strbuf labels = {0};

	sfs_strbuf_puts(&labels, "{mount=");
	sfs_strbuf_label(&labels, engine->mountpoint ? engine->mountpoint : "");
	sfs_strbuf_puts(&labels, "}");
	for (i = 0; i < n; i++)
		print_metric(&numbers[i], labels.s, text);
	sfs_strbuf_done(&labels);
}

void sfs_status_config(struct sfs_engine *engine, struct sfs_strbuf *text)
{
	char size[32];
	int i;

	sfs_strbuf_puts(text,
			"# The settings of this mount, and where each one came from.\n");
	for (i = 0; i < engine->specs.n; i++)
		sfs_strbuf_printf(text, "source = %s\n", engine->specs.s[i]);
	sfs_options_print(engine->options, text);
	sfs_strbuf_printf(text, "# The budget is %s.\n",
			  sfs_format_size(engine->runtime.budget.total_bytes, size));
}

static void print_order(const struct sfs_engine *engine, struct sfs_strbuf *text)
{
	static const char *const keys[] = {"auto", "asis", "unique"};
	static const char *const equal[] = {"none", "drop", "pad"};
	const struct sfs_options *o = engine->options;

	sfs_strbuf_printf(text, "\norder   seed=%llu lanes=%u buffer=%llu segment=",
			  (unsigned long long)o->seed, engine->runtime.order.lanes,
			  (unsigned long long)o->buffer);
	sfs_options_print_segment(o->segment, text);
	sfs_strbuf_printf(text, " equal=%s keys=%s", equal[o->equal], keys[o->keys]);
}

void sfs_status_readme(struct sfs_engine *engine, struct sfs_strbuf *text)
{
	const struct sfs_shards *shards = &engine->runtime.shards;
	const char *weak = sfs_weak_order_text(&engine->weak_order);
	int i;

	sfs_strbuf_puts(text, "This dataset is mounted by shufflefs " VERSION ".\n\n");
	for (i = 0; i < engine->specs.n; i++)
		sfs_strbuf_printf(text, "source  %s\n", engine->specs.s[i]);
	sfs_strbuf_printf(text, "shards  %u: %s", shards->n, shards->shards[0].name);
	if (shards->n > 1)
		sfs_strbuf_printf(text, " to %s", shards->shards[shards->n - 1].name);
	print_order(engine, text);
	sfs_strbuf_puts(text, "\nresume  ");
	sfs_name_print_resume(&engine->runtime.order, text);
	if (weak)
		sfs_strbuf_printf(text, "\nshuffle %s", weak);
	sfs_strbuf_puts(
		text,
		"\n\n"
		"epochs/0.tar             epoch 0: the whole dataset as one shuffled "
		"tar;\n"
		"                         epochs/1.tar is the next epoch, and so on\n"
		"epochs/0/rank-1-of-4.tar the part of rank 1 of 4 (4 must divide lanes)\n"
		"epochs/0@100.tar         epoch 0 from sample 100 on; also for ranks\n"
		"epochs/0.order           the order as text, a line per sample (.idx: its "
		"index for DALI)\n"
		"shards/NAME              a shard, byte for byte\n"
		"samples/NAME/...         the members of shard NAME as files\n"
		".shufflefs/stats.json    live statistics (metrics.prom: for "
		"Prometheus)\n"
		".shufflefs/config        the settings, and where each one came from\n"
		".shufflefs/errors        retries, skips and errors, one JSON line "
		"each\n\n"
		"Read an epoch with any program that reads tar:\n"
		"    tar tf epochs/0.tar | head\n"
		"    webdataset.WebDataset(\"epochs/0.tar\")\n"
		"The same shards and the same order give the same bytes on every "
		"machine.\n"
		"If shards repeat each other's keys, `tar x` of an epoch overwrites "
		"files;\n"
		"mount with keys=unique to avoid that.\n");
}
