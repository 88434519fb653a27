/* SPDX-License-Identifier: MIT */
/* How this works: it starts from the bottom up, and stops from the top down: first
 * nothing makes requests any more (ticker, sizes, scans), then the sources end all
 * requests, then what waited for these is freed, and last the memory.
 */
#include "engine/engine.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/cond.h"
#include "base/ledger.h"
#include "base/log.h"
#include "base/stall.h"
#include "catalog/dataset.h"
#include "catalog/index-cache.h"
#include "catalog/probe.h"
#include "catalog/stretches.h"
#include "engine/fingerprint.h"
#include "engine/load.h"
#include "memory/limit.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define GIB		 ((uint64_t)1 << 30)
#define MIB		 ((uint64_t)1 << 20)
#define CAT_BUDGET	 (256 * MIB)
#define MAX_FILE_THREADS 8
#define TRIM_SECONDS	 10 /* unused memory is given back after that time */

/* ---- how much memory ---- */

static int choose_budget(struct sfs_options *o, bool is_cat, uint64_t *ret_bytes,
			 struct sfs_error *err)
{
	uint64_t limit = sfs_memory_limit(), n = limit / 4;
	char need[32], have[32];

	*ret_bytes = o->budget;
	if (o->budget > limit)
		sfs_warning(
			"budget=%s exceeds the %s of memory that this machine or control "
			"group has: the kernel may kill shufflefs; lower budget=",
			sfs_format_size(o->budget, need), sfs_format_size(limit, have));
	if (o->budget)
		return 0;
	n = n < 4 * GIB ? n : 4 * GIB;
	if (is_cat && n > CAT_BUDGET)
		n = CAT_BUDGET;
	if (n < 2 * o->buffer) {
		if (2 * o->buffer > limit / 2)
			return sfs_error_set(
				err, -ENOMEM,
				"buffer=%s needs twice that much memory, but this "
				"machine has only %s: lower buffer=, or set budget=",
				sfs_format_size(o->buffer, need),
				sfs_format_size(limit, have));
		n = 2 * o->buffer;
	}
	*ret_bytes = n;
	return 0;
}

/* What random reads can always have. */
static uint64_t range_floor(uint64_t budget)
{
	uint64_t n = budget / 16;

	return n < 8 * MIB ? 8 * MIB : n > 64 * MIB ? 64 * MIB : n;
}

/* To read an epoch, every lane of a stream needs its floor. */
static int check_budget(const struct sfs_order_settings *order, uint64_t budget,
			uint32_t n_shards, struct sfs_error *err)
{
	uint64_t lanes = sfs_order_most_lanes(order, n_shards);
	uint64_t need = lanes * SFS_BUDGET_LANE_FLOOR + range_floor(budget) + MIB;
	char have[32], want[32];

	if (budget >= need)
		return 0;
	return sfs_error_set(err, -ENOMEM,
			     "budget=%s is too small for %llu lanes, which need %s: "
			     "raise budget=, or lower lanes= (which changes the order)",
			     sfs_format_size(budget, have), (unsigned long long)lanes,
			     sfs_format_size((need + MIB - 1) / MIB * MIB, want));
}

/* A few threads are enough for a disk. */
static int n_file_threads(const struct sfs_options *o)
{
	return o->connections < MAX_FILE_THREADS ? (int)o->connections : MAX_FILE_THREADS;
}

static void choose_sources(struct sfs_engine *engine, const struct sfs_dataset *d)
{
	struct sfs_runtime *runtime = &engine->runtime;
	uint32_t i, n_files = 0;

	for (i = 0; i < d->n; i++)
		n_files += d->uris[i].scheme == SFS_SCHEME_FILE;
	runtime->source =
		2 * n_files > d->n || !engine->http ? engine->files : engine->http;
	if (n_files > 0 && n_files < d->n)
		runtime->other_source =
			runtime->source == engine->http ? engine->files : engine->http;
}

static int init_runtime(struct sfs_engine *engine, struct sfs_dataset *d, bool is_cat,
			struct sfs_error *err)
{
	const struct sfs_options *o = engine->options;
	struct sfs_runtime *runtime = &engine->runtime;
	long n_cpus = sysconf(_SC_NPROCESSORS_ONLN);
	struct sfs_object *objects;
	uint64_t budget;
	uint32_t i;
	int ret;

	runtime->order = (struct sfs_order_settings){.seed = o->seed,
						     .lanes = (uint32_t)o->lanes,
						     .buffer_bytes = o->buffer,
						     .segment = o->segment,
						     .equal = (enum sfs_equal)o->equal};
	ret = choose_budget(engine->options, is_cat, &budget, err);
	if (ret == 0)
		ret = check_budget(&runtime->order, budget, d->n, err);
	if (ret < 0)
		return ret;
	runtime->keys = (enum sfs_choice_keys)o->keys;
	choose_sources(engine, d);
	runtime->n_connections =
		runtime->source == engine->http ? (int)o->connections : n_file_threads(o);
	sfs_budget_init(&runtime->budget, budget);
	runtime->slabs = sfs_slabs_new(budget + 64 * MIB);
	sfs_slabs_fill(runtime->slabs, &runtime->budget);
	runtime->pool = sfs_threadpool_start("sfs-work", n_cpus > 4   ? 4
							 : n_cpus < 2 ? 2
								      : (int)n_cpus);
	runtime->timers = sfs_timers_start();
	sfs_range_reader_init(&runtime->range_reader, runtime->slabs, runtime->pool,
			      &runtime->budget, range_floor(budget));
	objects = sfs_calloc(d->n, sizeof *objects);
	for (i = 0; i < d->n; i++)
		sfs_object_init(&objects[i], &d->uris[i],
				d->uris[i].scheme == SFS_SCHEME_FILE ? engine->files
								     : engine->http);
	for (i = 0; i < d->n; i++)
		sfs_object_set_listed(&objects[i], d->listed[i].size, d->listed[i].tag,
				      d->listed[i].mtime_s);
	sfs_shards_init(&runtime->shards, d->n, d->names, objects,
			o->on_error == SFS_ON_ERROR_SKIP,
			o->segment == SFS_SEGMENT_RANDOM ? SFS_STRETCH_SETS : 0,
			&runtime->budget);
	for (i = 0; i < d->n; i++) {
		runtime->shards.shards[i].said_bytes = d->said[i].n_bytes;
		runtime->shards.shards[i].said_samples = d->said[i].n_samples;
	}
	sfs_account_open(&runtime->texts, &runtime->budget, 0, false, NULL);
	sfs_reclaim_init(&engine->reclaim, runtime, o->budget == 0);
	free(objects);
	free(steal(&d->names));
	return 0;
}

/* ---- sources ---- */

/* Those of the shards, and of a place for indexes. */
static int start_stores(struct sfs_engine *engine, const struct sfs_dataset *d,
			struct sfs_error *err)
{
	const char *place = engine->options->index;
	struct sfs_error ignored;
	struct sfs_uri uri = {0};
	int ret = 0;
	uint32_t i;

	for (i = 0; i < d->n && ret == 0; i++)
		if (i == 0 || d->uris[i].scheme != d->uris[i - 1].scheme)
			ret = sfs_stores_start(&engine->stores, d->uris[i].scheme, err);
	if (ret == 0 && place && sfs_uri_has_scheme(place) &&
	    sfs_uri_parse(place, &uri, &ignored) == 0)
		ret = sfs_stores_start(&engine->stores, uri.scheme, err);
	sfs_uri_done(&uri);
	return ret;
}

static int start_sources(struct sfs_engine *engine, const struct sfs_dataset *d,
			 struct sfs_error *err)
{
	struct sfs_options *o = engine->options;
	struct sfs_http_options http = sfs_stores_http_options(o);
	bool has_files = false, has_http = false;
	int ret;
	uint32_t i;

	for (i = 0; i < d->n; i++) {
		has_files |= d->uris[i].scheme == SFS_SCHEME_FILE;
		has_http |= d->uris[i].scheme != SFS_SCHEME_FILE;
	}
	has_http |= o->index && sfs_uri_has_scheme(o->index);
	ret = start_stores(engine, d, err);
	if (ret < 0)
		return ret;
	if (has_files)
		engine->files = sfs_source_file_start(n_file_threads(o),
						      o->verify == SFS_VERIFY_SIZE);
	http.stores = engine->stores.stores;
	http.n_stores = engine->stores.n;
	if (has_http)
		engine->http = sfs_source_http_start(&http, err);
	return has_http && !engine->http ? -EINVAL : 0;
}

/* ---- indexes ---- */

/* The absolute path of a folder; NULL stays NULL. */
static char *from_here(const char *folder)
{
	sfs_autofree char *cwd = NULL;

	if (!folder)
		return NULL;
	if (folder[0] != '/' && !sfs_uri_has_scheme(folder))
		cwd = getcwd(NULL, 0);
	return cwd ? sfs_asprintf("%s/%s", cwd, folder) : sfs_strdup(folder);
}

char *sfs_engine_index_cache(const struct sfs_options *o)
{
	if (!o->index_cache)
		return sfs_index_cache_default_folder();
	return strcmp(o->index_cache, "no") == 0 ? NULL : from_here(o->index_cache);
}

static int start_indexes(struct sfs_engine *engine, struct sfs_error *err)
{
	const struct sfs_options *o = engine->options;
	sfs_autofree char *to = from_here(o->index_to),
			  *cache = to ? NULL : sfs_engine_index_cache(o),
			  *place = from_here(to ? to : o->index);
	struct sfs_index_finder_options options = {
		.cache = cache,
		.place = place,
		.to = to,
		.verify_size_only = o->verify == SFS_VERIFY_SIZE,
		.http = engine->http,
		.account = &engine->runtime.shards.account,
	};
	int ret;

	ret = sfs_index_finder_new(&options, &engine->indexes, err);
	engine->runtime.shards.indexes = engine->indexes;
	return ret;
}

/* ---- the ticker ---- */

static void *tick(void *arg)
{
	struct sfs_engine *engine = arg;
	int n_idle = 0, n_ticks = 0;

	pthread_mutex_lock(&engine->lock);
	while (!engine->is_stopping) {
		if (sfs_cond_wait_until(&engine->wake, &engine->lock,
					sfs_clock_ns() + SFS_NS_PER_S))
			continue;
		pthread_mutex_unlock(&engine->lock);
		sfs_reclaim_tick(&engine->reclaim);
		sfs_streams_tick(&engine->streams);
		sfs_scan_all_tick(engine->scan_all);
		sfs_scan_all_tick(engine->members);
		sfs_shard_readers_tick(engine->shard_readers);
		sfs_idx_files_tick(engine->idx_files);
		sfs_weak_order_tick(&engine->weak_order);
		n_idle = sfs_slabs_used(engine->runtime.slabs) > 0 ? 0 : n_idle + 1;
		if (n_idle == TRIM_SECONDS)
			sfs_slabs_trim(engine->runtime.slabs, 0);
		else if (++n_ticks % TRIM_SECONDS == 0)
			sfs_slabs_settle(engine->runtime.slabs);
		pthread_mutex_lock(&engine->lock);
	}
	pthread_mutex_unlock(&engine->lock);
	return NULL;
}

/* ---- life ---- */

static void take_specs(struct sfs_engine *engine, const struct sfs_strings *specs)
{
	int i;

	for (i = 0; i < specs->n; i++) {
		sfs_autofree char *shown = sfs_uri_redact(specs->s[i]);

		sfs_strings_add(&engine->specs, shown);
	}
	engine->title =
		sfs_asprintf("%s%s", engine->specs.s[0], specs->n > 1 ? ", ..." : "");
}

/* -EINVAL: two shards have the same name, or the name of one is a folder of another. */
static int name_shards(struct sfs_engine *engine, struct sfs_error *err)
{
	const struct sfs_shards *shards = &engine->runtime.shards;
	const char *name;
	uint32_t i, id;

	engine->names = sfs_directory_new();
	for (i = 0; i < shards->n; i++) {
		name = shards->shards[i].name;
		id = sfs_directory_put(engine->names, name, strlen(name));
		if (id == 0)
			return sfs_error_set(err, -EINVAL,
					     "shard name '%s' is not a valid path, or is "
					     "also the folder of another shard",
					     name);
		engine->names->nodes[id].data = i;
	}
	return 0;
}

static int start(struct sfs_engine *engine, struct sfs_dataset *d, bool is_cat,
		 struct sfs_error *err)
{
	int ret;

	ret = start_sources(engine, d, err);
	if (ret == 0)
		ret = init_runtime(engine, d, is_cat, err);
	if (ret == 0)
		ret = start_indexes(engine, err);
	if (ret == 0)
		ret = sfs_probe_start(&engine->runtime.shards, d->spec_of, &engine->sizes,
				      err);
	if (ret < 0)
		return ret;
	sfs_header_scanner_init(&engine->scanner, &engine->runtime);
	engine->scan_all =
		sfs_scan_all_new(&engine->runtime, &engine->scanner,
				 sfs_header_scan_table, engine->options->index_wait_ms);
	engine->members =
		sfs_scan_all_new(&engine->runtime, &engine->scanner,
				 sfs_header_scan_members, engine->options->index_wait_ms);
	sfs_streams_init(&engine->streams, &engine->runtime, &engine->scanner);
	sfs_next_epoch_init(&engine->next_epoch, &engine->streams, engine->runtime.pool,
			    is_cat ? SFS_NEXT_NO
				   : (enum sfs_choice_next_epoch)
					     engine->options->next_epoch);
	sfs_weak_order_init(&engine->weak_order, &engine->runtime, engine->sizes);
	engine->shard_readers = sfs_shard_readers_new(&engine->runtime);
	engine->idx_files =
		sfs_idx_files_new(&engine->runtime, engine->sizes, &engine->scanner);
	ret = name_shards(engine, err);
	if (ret < 0)
		return ret;
	engine->ticker = sfs_thread_start("sfs-tick", tick, engine);
	engine->has_ticker = true;
	sfs_clock_skip_pauses(true); /* it reads the clock each second */
	return 0;
}

int sfs_engine_wait_for_sizes(struct sfs_engine *engine, void (*show)(void *ctx),
			      void *ctx, struct sfs_error *err)
{
	struct sfs_sizes_tally tally;
	struct sfs_sync sync;
	int ret;

	sfs_sync_init(&sync);
	while ((ret = sfs_sizes_all(engine->sizes, &sync.waiter)) == -EINPROGRESS &&
	       (ret = sfs_sync_wait_showing(&sync, show, ctx)) == 0)
		;
	sfs_sync_done(&sync);
	if (ret == 0)
		return sfs_probe_shards(engine->sizes, &engine->runtime.shards, false,
					err);
	sfs_ledger_why("", ret, err); /* a time-out; the sizes know the other errors */
	sfs_error_wrap(err, ret, "cannot get the sizes of all shards");
	sfs_sizes_report(engine->sizes, &tally);
	sfs_sizes_describe(&tally, err);
	return ret;
}

/* Compare with expect-order; needs all sizes. */
static int check_order(struct sfs_engine *engine, struct sfs_error *err)
{
	const char *expected = engine->options->expect_order;
	char found[20], first[20];
	int ret;

	if (!expected)
		return 0;
	ret = sfs_engine_wait_for_sizes(engine, NULL, NULL, err);
	if (ret < 0)
		return sfs_error_wrap(err, ret, "expect-order");
	snprintf(found, sizeof found, "%016llx",
		 (unsigned long long)sfs_fingerprint(&engine->runtime));
	if (strcmp(found, expected) == 0)
		return 0;
	snprintf(first, sizeof first, "%016llx",
		 (unsigned long long)sfs_fingerprint_of_first_edition(&engine->runtime));
	if (strcmp(first, expected) == 0)
		return sfs_error_set(
			err, -ESTALE,
			"expect-order is %s, which is the first edition of the order "
			"(shufflefs 0.1.0) of these shards; this version has only the "
			"second edition, which is %s: its epochs differ, so begin with a "
			"new epoch and expect this order",
			expected, found);
	return sfs_error_set(err, -ESTALE,
			     "the order is %s, but expect-order is %s: shard names or "
			     "sizes differ, or an option that is part of the order does "
			     "(seed, lanes, buffer, segment, equal, keys)",
			     found, expected);
}

/* Once: bench starts several engines. */
static void warn_of_repeated(const struct sfs_dataset *d)
{
	static atomic_flag has_warned = ATOMIC_FLAG_INIT;

	if (d->repeated.text[0] && !atomic_flag_test_and_set(&has_warned))
		sfs_warning("%s", d->repeated.text);
}

int sfs_engine_start(struct sfs_options *options, const struct sfs_strings *specs,
		     bool is_cat, struct sfs_engine **ret_engine, struct sfs_error *err)
{
	struct sfs_dataset dataset = {0};
	struct sfs_stores stores;
	struct sfs_engine *engine;
	int ret;

	sfs_stall_set_limit(options->read_timeout_ms);
	ret = sfs_load(options, specs, &dataset, &stores, err);
	if (ret < 0)
		return ret;
	engine = sfs_calloc(1, sizeof *engine);
	engine->stores = stores;
	engine->options = options;
	engine->not_taken = dataset.not_taken;
	warn_of_repeated(&dataset);
	engine->started_ms = sfs_clock_wall_ms();
	engine->started_ns = sfs_clock_ns();
	pthread_mutex_init(&engine->lock, NULL);
	pthread_cond_init(&engine->wake, NULL);
	take_specs(engine, specs);
	ret = start(engine, &dataset, is_cat, err);
	sfs_dataset_done(&dataset);
	if (ret == 0)
		ret = check_order(engine, err);
	if (ret < 0) {
		sfs_engine_stop(engine);
		sfs_engine_free(engine);
		return ret;
	}
	*ret_engine = engine;
	return 0;
}

void sfs_engine_warn_of_folders(const struct sfs_engine *engine)
{
	if (engine->not_taken.text[0])
		sfs_warning("%s", engine->not_taken.text);
}

static void stop_ticker(struct sfs_engine *engine)
{
	sfs_clock_skip_pauses(false);
	pthread_mutex_lock(&engine->lock);
	engine->is_stopping = true;
	pthread_cond_signal(&engine->wake);
	pthread_mutex_unlock(&engine->lock);
	if (engine->has_ticker)
		pthread_join(engine->ticker, NULL);
}

void sfs_engine_stop(struct sfs_engine *engine)
{
	struct sfs_runtime *runtime;

	if (!engine)
		return;
	runtime = &engine->runtime;
	stop_ticker(engine);
	if (engine->streams.runtime)
		sfs_next_epoch_stop(&engine->next_epoch);
	sfs_sizes_stop(engine->sizes);
	sfs_scan_all_stop(engine->scan_all);
	sfs_scan_all_stop(engine->members);
	if (engine->scanner.runtime)
		sfs_header_scanner_stop(&engine->scanner);
	sfs_source_stop(engine->files);
	sfs_source_stop(engine->http);
	sfs_index_finder_stop(engine->indexes);
	if (sfs_threads_are_left()) {
		sfs_warning(
			"a local disk does not respond; exiting without waiting for it");
		return; /* it may still write into our memory */
	}
	if (engine->streams.runtime) {
		sfs_streams_done(&engine->streams);
		sfs_next_epoch_done(&engine->next_epoch);
	}
	sfs_shard_readers_free(engine->shard_readers);
	sfs_timers_stop(runtime->timers);
	sfs_threadpool_stop(runtime->pool);
}

void sfs_engine_free(struct sfs_engine *engine)
{
	struct sfs_runtime *runtime;

	if (!engine || sfs_threads_are_left())
		return;
	runtime = &engine->runtime;
	sfs_scan_all_free(engine->scan_all);
	sfs_scan_all_free(engine->members);
	sfs_idx_files_free(engine->idx_files);
	sfs_header_scanner_done(&engine->scanner);
	sfs_sizes_free(engine->sizes);
	if (engine->names)
		sfs_directory_free(engine->names);
	if (runtime->pool) {
		sfs_stretches_done(&runtime->shards);
		sfs_shards_done(&runtime->shards);
		sfs_account_close(&runtime->texts);
		sfs_range_reader_done(&runtime->range_reader);
		sfs_slabs_free(runtime->slabs);
		sfs_budget_done(&runtime->budget);
		sfs_reclaim_done(&engine->reclaim);
	}
	sfs_index_finder_free(engine->indexes);
	sfs_threadpool_free(runtime->pool);
	sfs_source_free(engine->files);
	sfs_source_free(engine->http);
	sfs_stores_done(&engine->stores);
	pthread_mutex_destroy(&engine->lock);
	pthread_cond_destroy(&engine->wake);
	sfs_strings_done(&engine->specs);
	free(engine->title);
	free(engine);
}
