/* SPDX-License-Identifier: MIT */
/* How this works: a fixed number of jobs run at a time; each requests the size of its
 * shard, then its members, and then starts the next shard.  A job that must wait returns
 * through `ready`, from other threads; the caller's thread does everything else.
 *
 * io/scan-all.h scans all shards too, but keeps all their tables, for callers with
 * deadlines; here tables may be dropped, and jobs end when the sources stall. */
#include "cli/index.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/cond.h"
#include "base/ledger.h"
#include "base/log.h"
#include "base/progress.h"
#include "base/stall.h"
#include "engine/engine.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#define N_JOBS	     64
#define FLUSH_SHARDS 256 /* shards after which pending indexes are written */

struct job {
	struct sfs_waiter waiter;
	struct indexing *all;
	struct sfs_shard *shard;
	struct sfs_link link; /* in ready */
	bool is_waiting;
	int err;
};

struct indexing {
	struct sfs_engine *engine;
	const struct sfs_index_dataset_options *wanted;
	struct sfs_progress progress;
	uint32_t next, n, n_done, n_failed, n_left_out, n_busy;
	uint64_t n_samples, n_lost, begun_ns;
	int failure;
	struct job jobs[N_JOBS];

	pthread_mutex_t lock; /* guards ready */
	pthread_cond_t wake;
	struct sfs_link ready;
};

static void on_ready(struct sfs_waiter *waiter, int err)
{
	struct job *job = sfs_container(waiter, struct job, waiter);
	struct indexing *x = job->all;

	pthread_mutex_lock(&x->lock);
	job->err = err;
	sfs_list_push(&x->ready, &job->link);
	pthread_cond_signal(&x->wake);
	pthread_mutex_unlock(&x->lock);
}

/* A missing shard that counts as empty: there is nothing to index. */
static bool is_left_out(const struct sfs_shard *shard)
{
	return shard->size_err < 0;
}

/* Count a shard that is done. */
static void finish(struct indexing *x, const struct job *job, int ret)
{
	uint64_t n_samples = 0, n_bytes;

	if (ret == 0 && is_left_out(job->shard))
		x->n_left_out++;
	else if (ret == 0 && !sfs_shard_totals(job->shard, &n_samples, &n_bytes))
		ret = -EBADMSG;
	x->n_done++;
	x->n_samples += n_samples;
	if (ret < 0 && x->n_failed++ == 0)
		x->failure = ret;
	if (x->n_done % FLUSH_SHARDS == 0)
		x->n_lost += sfs_index_finder_flush(x->engine->indexes);
}

/* Continue a job.  -EINPROGRESS: it will be ready again. */
static int go_on(struct indexing *x, struct job *job)
{
	int ret = sfs_sizes_shard(x->engine->sizes, job->shard, &job->waiter);

	if (ret < 0 || is_left_out(job->shard))
		return ret;
	return sfs_header_scan_members(&x->engine->scanner, job->shard, &job->waiter);
}

/* Work on shards until one must wait, or none is left. */
static void index_run(struct indexing *x, struct job *job)
{
	int ret = job->err;

	for (;; ret = 0) {
		if (job->shard) {
			ret = ret < 0 ? ret : go_on(x, job);
			job->is_waiting = ret == -EINPROGRESS;
			if (job->is_waiting)
				return;
			finish(x, job, ret);
		}
		if (x->next >= x->engine->runtime.shards.n)
			break;
		job->shard = &x->engine->runtime.shards.shards[x->next];
		x->next += x->wanted->n_parts;
	}
	x->n_busy--;
}

static void show_progress(const struct indexing *x)
{
	uint64_t gone_ns = sfs_clock_ns() - x->begun_ns, left_s;

	left_s = x->n_done ? gone_ns / x->n_done * (x->n - x->n_done) / SFS_NS_PER_S : 0;
	sfs_progress_show(&x->progress, x->n ? (double)x->n_done / x->n : 1,
			  "%u of %u shards indexed, %u%%, %" PRIu64 ":%02u left",
			  x->n_done, x->n,
			  x->n ? (unsigned)(100ULL * x->n_done / x->n) : 100, left_s / 60,
			  (unsigned)(left_s % 60));
}

/* Wait for a job that is ready, and show progress meanwhile.  NULL: the sources have not
 * answered for too long. */
static struct job *wait_for_job(struct indexing *x)
{
	uint64_t begun_ns = sfs_clock_ns(), now_ns = begun_ns;
	struct sfs_link *link;

	pthread_mutex_lock(&x->lock);
	while ((link = sfs_list_pop(&x->ready)) == NULL &&
	       now_ns < sfs_stall_until(begun_ns)) {
		sfs_cond_wait_until(&x->wake, &x->lock, now_ns + SFS_NS_PER_S);
		show_progress(x);
		now_ns = sfs_clock_ns();
	}
	pthread_mutex_unlock(&x->lock);
	return link ? sfs_container(link, struct job, link) : NULL;
}

/* Cancel all jobs that wait, and start no more shards. */
static void give_up(struct indexing *x)
{
	struct sfs_cause cause;
	int i;

	x->next = x->engine->runtime.shards.n;
	for (i = 0; i < N_JOBS; i++) {
		struct job *job = &x->jobs[i];

		cause = (struct sfs_cause){.offset = SFS_NO_OFFSET};
		if (!job->is_waiting)
			continue;
		sfs_waiter_explain(&job->waiter, &cause);
		if (!sfs_waiter_cancel(&job->waiter))
			continue; /* it returns through `ready` */
		sfs_cause_note(&cause, sfs_stall_limit_ns(), "the shard is not indexed");
		job->err = -ETIMEDOUT;
		index_run(x, job);
	}
}

static void index_all(struct indexing *x)
{
	struct job *job;
	int i;

	for (i = 0; i < N_JOBS; i++) {
		x->jobs[i].all = x;
		x->jobs[i].waiter.done = on_ready;
		x->n_busy++;
		index_run(x, &x->jobs[i]);
	}
	while (x->n_busy > 0) {
		job = wait_for_job(x);
		if (job)
			index_run(x, job);
		else
			give_up(x);
	}
	x->n_lost += sfs_index_finder_flush(x->engine->indexes);
	sfs_progress_clear(&x->progress);
}

/* Damaged shards have been named already; missing ones may count as empty. */
static int report_failures(struct indexing *x, struct sfs_error *err)
{
	struct sfs_sizes_tally tally;
	struct sfs_error why = {0};

	sfs_sizes_report(x->engine->sizes, &tally);
	sfs_sizes_describe(&tally, &why);
	if (x->n_failed == 0 && why.text[0])
		sfs_warning("%s", why.text);
	if (x->n_failed == 0)
		return 0;
	if (x->n_failed ==
	    tally.n_missing + tally.n_refused + tally.n_failed + tally.n_foreign)
		return sfs_error_set(err, x->failure, "%s", why.text);
	return sfs_error_set(err, x->failure, "cannot index %u of %u shards%s%s",
			     x->n_failed, x->n_done, why.text[0] ? ": " : "", why.text);
}

static int report(struct indexing *x, struct sfs_strbuf *text, struct sfs_error *err)
{
	struct sfs_source_counts counts = {0};
	char size[32];
	int ret;

	sfs_source_count(x->engine->files, &counts);
	sfs_source_count(x->engine->http, &counts);
	sfs_strbuf_printf(text,
			  "indexed %u shards: %" PRIu64
			  " samples; read %s bytes in %.1f s\n",
			  x->n_done - x->n_failed - x->n_left_out, x->n_samples,
			  sfs_format_size(counts.n_bytes, size),
			  (double)(sfs_clock_ns() - x->begun_ns) / SFS_NS_PER_S);
	ret = report_failures(x, err);
	if (ret < 0)
		return ret;
	if (x->n_lost > 0)
		return sfs_error_set(err, -EIO,
				     "%" PRIu64
				     " indexes were not saved: see the messages above; "
				     "if the server sends no ETag or date, use --to=DIR",
				     x->n_lost);
	return 0;
}

/* Is there anywhere to keep indexes? */
static int check_place(const struct sfs_options *o, struct sfs_error *err)
{
	sfs_autofree char *folder = sfs_engine_index_cache(o);

	if (o->index_to || folder)
		return 0;
	return sfs_error_set(err, -EINVAL, "nowhere to save indexes: %s; use --to=DIR",
			     o->index_cache ? "index-cache=no"
					    : "neither XDG_CACHE_HOME nor HOME is set");
}

int sfs_index_dataset(struct sfs_options *options, const struct sfs_strings *specs,
		      const struct sfs_index_dataset_options *wanted,
		      struct sfs_strbuf *text, struct sfs_error *err)
{
	struct indexing x = {.wanted = wanted,
			     .lock = PTHREAD_MUTEX_INITIALIZER,
			     .wake = PTHREAD_COND_INITIALIZER,
			     .next = wanted->part,
			     .begun_ns = sfs_clock_ns()};
	uint32_t n;
	int ret;

	ret = check_place(options, err);
	if (ret < 0)
		return ret;
	ret = sfs_engine_start(options, specs, false, &x.engine, err);
	if (ret < 0)
		return ret;
	sfs_progress_init(&x.progress, STDERR_FILENO);
	x.engine->runtime.shards.saves_members = true;
	x.engine->scanner.has_second_reader = true;
	n = x.engine->runtime.shards.n;
	x.n = n > wanted->part ? (n - wanted->part - 1) / wanted->n_parts + 1 : 0;
	sfs_list_init(&x.ready);
	if (x.n > 0)
		ret = sfs_index_finder_try(x.engine->indexes, err);
	if (ret == 0) {
		index_all(&x);
		ret = report(&x, text, err);
	}
	sfs_engine_stop(x.engine);
	sfs_engine_free(x.engine);
	return ret;
}
