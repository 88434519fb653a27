/* SPDX-License-Identifier: MIT */
/* How this works: a scan fetches the bytes that its consumers want next: the shard's
 * table, unless it is complete, and, if somebody asked for members or a listing, a tar
 * scan of its own.  Before that it looks for an index, which may do instead.
 *
 * What a scan at work needs is its task's, which never runs twice at once; what is shared
 * with callers is under the scanner's lock.  It is allocated when the scan begins: tens
 * of thousands of scans may be queued, but only a few run.
 *
 * A scan does what was asked for until it began, and nothing else: members and listings
 * need all headers from the first on.  Callers that ask for more while it runs wait for
 * another scan, which follows it.
 *
 * Who wants an index alone never waits for headers: a scan that is queued looks for the
 * index first and is queued again, and one that runs tells when it has looked. */
#include "io/header-scan.h"

#include "base/alloc.h"
#include "base/ledger.h"
#include "base/lock.h"
#include "catalog/stretches.h"
#include "io/header-scan-internal.h"

#include <assert.h>
#include <errno.h>

#define MAX_RUNNING 8
#define MAX_SMALL   64 /* scans that run when one starts that needs no table */
#define MAX_PROOFS  32 /* besides */

/* ---- listings ---- */

static void free_listed(struct sfs_header_scanner *s, struct sfs_cached_directory *listed)
{
	sfs_account_give(&s->account, listed->n_bytes);
	listed->shard->listed = NULL;
	sfs_directory_free(listed->listing);
	free(listed);
}

/* Keep a new listing; drop unused ones if memory is short.  Locked. */
static void keep_listing(struct sfs_header_scanner *s, struct sfs_header_work *w)
{
	struct sfs_cached_directory *listed = sfs_calloc(1, sizeof *listed);
	uint64_t n_bytes = sfs_directory_memory(w->listing);
	uint64_t limit = s->runtime->budget.total_bytes / 8;
	struct sfs_link *link;

	listed->listing = steal(&w->listing);
	listed->shard = w->hs->shard;
	listed->is_damaged = w->scan.err < 0;
	while (sfs_account_used(&s->account) + n_bytes > limit &&
	       (link = sfs_list_pop(&s->unused)))
		free_listed(s, sfs_container(link, struct sfs_cached_directory, link));
	listed->n_bytes = n_bytes;
	sfs_account_hold(&s->account, n_bytes, UINT64_MAX);
	listed->shard->listed = listed;
	sfs_list_push(&s->unused, &listed->link);
}

void sfs_header_scan_put(struct sfs_header_scanner *s,
			 struct sfs_cached_directory *listed)
{
	pthread_mutex_lock(&s->lock);
	if (--listed->n_users == 0)
		sfs_list_push(&s->unused, &listed->link);
	pthread_mutex_unlock(&s->lock);
}

/* ---- one scan ---- */

/* A proof begins with small chunks, unless a reader waits for it from afar. */
static bool begins_small(struct sfs_header_scan *hs)
{
	struct sfs_netpath path = sfs_object_netpath(hs->shard->object);

	return hs->is_proof && (atomic_load(&hs->is_quiet) || !sfs_netpath_is_far(&path));
}

static struct sfs_header_work *begin(struct sfs_header_scan *hs)
{
	struct sfs_header_scanner *s = hs->scanner;
	struct sfs_header_work *w = sfs_calloc(1, sizeof *w);
	unsigned needs;

	pthread_mutex_lock(&s->lock);
	hs->is_open = false;
	needs = hs->needs;
	pthread_mutex_unlock(&s->lock);
	sfs_shard_pin(&s->runtime->shards, hs->shard);
	w->hs = hs;
	w->fetch = (struct sfs_header_fetch){.runtime = s->runtime,
					     .shard = hs->shard,
					     .task = &hs->task,
					     .lock = &s->lock,
					     .times = &s->times,
					     .is_proof = hs->is_proof,
					     .is_quiet = &hs->is_quiet};
	w->needs_table = needs & SFS_HEADER_TABLE;
	w->fetch.is_jumping = begins_small(hs);
	w->fetch.is_for_first = (needs & SFS_HEADER_FIRST) && !w->needs_table;
	w->needs_members = (needs & SFS_HEADER_MEMBERS) && !sfs_shard_members(hs->shard);
	if (needs & SFS_HEADER_LISTING) {
		w->listing = sfs_directory_new();
		sfs_scan_init(&w->scan, hs->shard->object->size);
	}
	if (hs->shard->object->size == 0)
		sfs_header_work_feed(w, 0, NULL, 0);
	w->find_err = -ENOENT;
	sfs_header_work_find_index(w);
	return w;
}

/* The count in which it is while it runs.  Locked. */
static int *n_started(struct sfs_header_scan *hs)
{
	return hs->is_proof ? &hs->scanner->n_proofs : &hs->scanner->n_running;
}

static void start_queued(struct sfs_header_scanner *s);
enum effort { AT_ONCE, PROOF, QUIET }; /* for whom a scan is */
static struct sfs_header_scan *new_scan(struct sfs_header_scanner *s,
					struct sfs_shard *shard, unsigned needs,
					enum effort effort);

/* Queue another scan for what was asked for too late; cancel its waiters if the scanner
 * has stopped.  Locked. */
static void scan_again(struct sfs_header_scan *hs, struct sfs_link *cancelled)
{
	struct sfs_header_scanner *s = hs->scanner;
	struct sfs_header_scan *next;

	hs->shard->header_scan = NULL;
	if (s->is_closed) {
		sfs_waiters_tell(&hs->late_waiters, cancelled);
	} else if (hs->late_needs) {
		next = new_scan(s, hs->shard, hs->late_needs, AT_ONCE);
		sfs_list_move(&next->waiters, &hs->late_waiters);
	}
}

static void free_work(struct sfs_header_work *w)
{
	sfs_directory_free(w->listing);
	sfs_scan_done(&w->scan);
	sfs_members_done(&w->members);
	sfs_charge_done(&w->members_held);
	sfs_second_reader_done(&w->second);
	free(w);
}

static void finish(struct sfs_header_scan *hs)
{
	struct sfs_header_scanner *s = hs->scanner;
	struct sfs_header_work *w = hs->work;
	struct sfs_link ended, cancelled;

	sfs_header_work_keep_result(w);
	atomic_store(&hs->shard->was_sought, true);
	sfs_list_init(&ended);
	sfs_list_init(&cancelled);
	pthread_mutex_lock(&s->lock);
	if (w->listing && w->err == 0)
		keep_listing(s, w);
	sfs_waiters_tell(&hs->waiters, &ended);
	sfs_waiters_tell(&hs->index_waiters, &ended);
	scan_again(hs, &cancelled);
	*n_started(hs) -= 1;
	start_queued(s);
	pthread_mutex_unlock(&s->lock);

	sfs_shard_unpin(&s->runtime->shards, hs->shard);
	sfs_stretch_let_go(&s->runtime->shards, hs->shard);
	sfs_waiters_end(&ended, w->err);
	sfs_waiters_end(&cancelled, -ECANCELED);
	free_work(w);
	free(hs);
}

static void note_progress(struct sfs_header_scan *hs, uint64_t want)
{
	uint64_t size = hs->shard->object->size;

	pthread_mutex_lock(&hs->scanner->lock);
	hs->progress = want < size ? want : size;
	pthread_mutex_unlock(&hs->scanner->lock);
}

/* An index was looked for. */
static void tell_sought(struct sfs_header_scan *hs)
{
	struct sfs_link ended;

	sfs_list_init(&ended);
	pthread_mutex_lock(&hs->scanner->lock);
	hs->has_sought = true;
	sfs_waiters_tell(&hs->index_waiters, &ended);
	pthread_mutex_unlock(&hs->scanner->lock);
	sfs_waiters_end(&ended, hs->work->err);
}

static bool scan_run(struct sfs_task *task)
{
	struct sfs_header_scan *hs = sfs_container(task, struct sfs_header_scan, task);
	uint64_t want;

	if (!hs->work)
		hs->work = begin(hs);
	if (!sfs_header_work_has_found(hs->work))
		return true;
	if (!hs->has_sought)
		tell_sought(hs);
	sfs_header_work_take_chunks(hs->work);
	want = sfs_header_work_wanted(hs->work);
	note_progress(hs, want);
	if (sfs_header_fetch_ask(&hs->work->fetch, hs->work->err < 0 ? UINT64_MAX : want))
		return true;
	finish(hs);
	return false;
}

/* ---- who asks ---- */

static void start_some(struct sfs_header_scanner *s, struct sfs_link *queue,
		       const int *n_running, int most)
{
	struct sfs_header_scan *hs;
	struct sfs_link *link;

	while (*n_running < most && (link = sfs_list_pop(queue)) != NULL) {
		hs = sfs_container(link, struct sfs_header_scan, link);
		*n_started(hs) += 1;
		sfs_threadpool_post(s->runtime->pool, &hs->task);
	}
}

/* Locked. */
static void start_queued(struct sfs_header_scanner *s)
{
	start_some(s, &s->queue, &s->n_running, MAX_RUNNING);
	start_some(s, &s->small, &s->n_running, MAX_SMALL);
	start_some(s, &s->proofs, &s->n_proofs, MAX_PROOFS);
}

static struct sfs_link *queue_of(struct sfs_header_scan *hs)
{
	if (hs->is_proof)
		return &hs->scanner->proofs;
	return hs->needs & SFS_HEADER_TABLE ? &hs->scanner->queue : &hs->scanner->small;
}

/* Somebody needs more than before, or sooner.  Locked. */
static void hurry(struct sfs_header_scan *hs, enum effort effort)
{
	bool is_queued = sfs_link_is_in(&hs->link);

	if (effort < QUIET)
		atomic_store(&hs->is_quiet, false);
	if (!is_queued)
		return; /* it runs */
	hs->is_proof &= effort > AT_ONCE;
	sfs_link_remove(&hs->link);
	sfs_list_push(queue_of(hs), &hs->link);
}

/* Locked. */
static struct sfs_header_scan *new_scan(struct sfs_header_scanner *s,
					struct sfs_shard *shard, unsigned needs,
					enum effort effort)
{
	struct sfs_header_scan *hs = shard->header_scan = sfs_calloc(1, sizeof *hs);

	hs->is_proof = effort > AT_ONCE;
	atomic_store(&hs->is_quiet, effort == QUIET);
	hs->scanner = s;
	hs->shard = shard;
	hs->task.run = scan_run;
	hs->needs = needs;
	hs->is_open = true;
	sfs_list_init(&hs->waiters);
	sfs_list_init(&hs->late_waiters);
	sfs_list_init(&hs->index_waiters);
	sfs_list_push(queue_of(hs), &hs->link);
	sfs_stretch_hold(&s->runtime->shards, shard);
	return hs;
}

/* Locked. */
static void scan_explain(struct sfs_waiter *waiter, struct sfs_cause *cause)
{
	const struct sfs_shard *shard = waiter->owner;

	sfs_object_explain(shard->object, SFS_NO_OFFSET, "the headers", cause);
}

/* Locked. */
static void add_waiter(struct sfs_header_scanner *s, struct sfs_shard *shard,
		       struct sfs_link *waiters, struct sfs_waiter *waiter)
{
	if (!waiter)
		return;
	waiter->lock = &s->lock;
	waiter->explain = scan_explain;
	waiter->owner = shard;
	sfs_list_push(waiters, &waiter->link);
}

/* Wait for a scan of the shard, queued or new.  Locked; unlocks. */
static int wait_with(struct sfs_header_scanner *s, struct sfs_shard *shard,
		     enum sfs_header_need need, enum effort effort,
		     struct sfs_waiter *waiter)
{
	unsigned needs = need == SFS_HEADER_FIRST ? need : need | SFS_HEADER_TABLE;
	struct sfs_header_scan *hs = shard->header_scan;
	bool is_late;

	if (s->is_closed) {
		pthread_mutex_unlock(&s->lock);
		return -ECANCELED;
	}
	if (!hs)
		hs = new_scan(s, shard, needs, effort);
	if (hs->is_open && hs->needs != SFS_HEADER_INDEX)
		hs->needs |= needs;
	if (needs != SFS_HEADER_FIRST)
		hurry(hs, effort);
	/* (Who has the table has the first sample, too.) */
	is_late = (needs & ~hs->needs) &&
		  !(needs == SFS_HEADER_FIRST && (hs->needs & SFS_HEADER_TABLE));
	if (is_late)
		hs->late_needs |= needs;
	add_waiter(s, shard, is_late ? &hs->late_waiters : &hs->waiters, waiter);
	start_queued(s);
	pthread_mutex_unlock(&s->lock);
	return -EINPROGRESS;
}

/* A scan that is queued looks for the index alone, and what it was asked for is queued
 * again: it may be a long time until that begins.  Locked. */
static void seek_first(struct sfs_header_scanner *s, struct sfs_header_scan *hs)
{
	hs->late_needs |= hs->needs;
	sfs_list_move(&hs->late_waiters, &hs->waiters);
	hs->needs = SFS_HEADER_INDEX;
	if (!sfs_link_is_in(&hs->link))
		return; /* it is about to begin */
	hs->is_proof = false;
	atomic_store(&hs->is_quiet, false);
	sfs_link_remove(&hs->link);
	sfs_list_push(&s->small, &hs->link);
}

/* Wait until an index was looked for.  Locked; unlocks. */
static int wait_for_index(struct sfs_header_scanner *s, struct sfs_shard *shard,
			  struct sfs_waiter *waiter)
{
	struct sfs_header_scan *hs = shard->header_scan;
	int ret = -EINPROGRESS;

	if (s->is_closed) {
		ret = -ECANCELED;
	} else if (hs && hs->has_sought) {
		ret = 0;
	} else {
		if (!hs)
			hs = new_scan(s, shard, SFS_HEADER_INDEX, AT_ONCE);
		else if (hs->is_open && hs->needs != SFS_HEADER_INDEX)
			seek_first(s, hs);
		add_waiter(s, shard, &hs->index_waiters, waiter);
		start_queued(s);
	}
	pthread_mutex_unlock(&s->lock);
	return ret;
}

static int wait_for(struct sfs_header_scanner *s, struct sfs_shard *shard,
		    enum sfs_header_need need, struct sfs_waiter *waiter)
{
	return wait_with(s, shard, need, AT_ONCE, waiter);
}

/* A stretch that waits for its shard has that scanned. */
static struct sfs_shard *to_scan(struct sfs_shard *shard)
{
	return shard->part.whole && sfs_stretch_waits(shard) ? shard->part.whole : shard;
}

/* Are its table and, if they are needed, its members in memory? */
static bool is_scanned(struct sfs_header_scanner *s, struct sfs_shard *shard,
		       bool needs_members)
{
	const struct sfs_sample_table *table;
	bool is_there;

	pthread_rwlock_rdlock(&s->runtime->shards.drop_lock);
	table = sfs_shard_table(shard);
	is_there = table && sfs_sample_table_state(table) != SFS_SAMPLE_TABLE_GROWING &&
		   (!needs_members || sfs_shard_members(shard));
	pthread_rwlock_unlock(&s->runtime->shards.drop_lock);
	return is_there;
}

static bool was_sought(const struct sfs_header_scanner *s, const struct sfs_shard *shard)
{
	return !s->runtime->shards.indexes || atomic_load(&shard->was_sought);
}

/* A stretch of a shard that is known copies what it has of it when it is pinned for the
 * first time, or if it waits for it.  (It guesses otherwise, so an index must have been
 * looked for.) */
static void copy_known(struct sfs_header_scanner *s, struct sfs_shard *shard)
{
	struct sfs_shard *whole = shard->part.whole;

	if (!whole || !(was_sought(s, whole) || is_scanned(s, whole, false)))
		return;
	sfs_shard_pin(&s->runtime->shards, shard);
	sfs_stretch_catch_up(&s->runtime->shards, shard);
	sfs_shard_unpin(&s->runtime->shards, shard);
}

int sfs_header_scan_members(struct sfs_header_scanner *s, struct sfs_shard *shard,
			    struct sfs_waiter *waiter)
{
	if (is_scanned(s, shard, true))
		return 0;
	pthread_mutex_lock(&s->lock);
	return wait_for(s, shard, SFS_HEADER_MEMBERS, waiter);
}

int sfs_header_scan_table(struct sfs_header_scanner *s, struct sfs_shard *shard,
			  struct sfs_waiter *waiter)
{
	int ret;

	if (is_scanned(s, shard, false))
		return 0;
	if (shard->part.whole) {
		ret = sfs_header_scan_index(s, shard->part.whole, waiter);
		if (ret < 0)
			return ret;
	}
	copy_known(s, shard);
	if (is_scanned(s, shard, false))
		return 0;
	shard = to_scan(shard);
	pthread_mutex_lock(&s->lock);
	return wait_for(s, shard, SFS_HEADER_TABLE, waiter);
}

int sfs_header_scan_proof(struct sfs_header_scanner *s, struct sfs_shard *shard,
			  bool is_quiet, struct sfs_waiter *waiter)
{
	if (is_scanned(s, shard, false))
		return 0;
	pthread_mutex_lock(&s->lock);
	return wait_with(s, shard, SFS_HEADER_TABLE, is_quiet ? QUIET : PROOF, waiter);
}

int sfs_header_scan_first(struct sfs_header_scanner *s, struct sfs_shard *stretch,
			  struct sfs_waiter *waiter)
{
	struct sfs_shard *shard;

	if (atomic_load(&stretch->part.first) == SFS_NOT_FOUND)
		copy_known(s, stretch);
	if (atomic_load(&stretch->part.first) != SFS_NOT_FOUND)
		return 0;
	if (sfs_shard_is_damaged(stretch))
		return -EIO;
	shard = to_scan(stretch);
	pthread_mutex_lock(&s->lock);
	return wait_for(s, shard, shard == stretch ? SFS_HEADER_FIRST : SFS_HEADER_TABLE,
			waiter);
}

int sfs_header_scan_whole(struct sfs_header_scanner *s, struct sfs_shard *shard,
			  struct sfs_waiter *waiter)
{
	struct sfs_shard *whole = shard->part.whole;

	/* (A pin begins a table, and one that has begun is not copied later.) */
	if (whole && !sfs_shard_is_damaged(whole) && !is_scanned(s, whole, false)) {
		pthread_mutex_lock(&s->lock);
		return wait_for(s, whole, SFS_HEADER_TABLE, waiter);
	}
	if (whole)
		sfs_stretch_catch_up(&s->runtime->shards, shard);
	return sfs_header_scan_table(s, shard, waiter);
}

int sfs_header_scan_index(struct sfs_header_scanner *s, struct sfs_shard *shard,
			  struct sfs_waiter *waiter)
{
	if (was_sought(s, shard))
		return 0;
	pthread_mutex_lock(&s->lock);
	return wait_for_index(s, shard, waiter);
}

uint64_t sfs_header_scan_progress(struct sfs_header_scanner *s, struct sfs_shard *shard)
{
	uint64_t n;

	pthread_mutex_lock(&s->lock);
	n = shard->header_scan ? shard->header_scan->progress : 0;
	pthread_mutex_unlock(&s->lock);
	return n;
}

int sfs_header_scan_listing(struct sfs_header_scanner *s, struct sfs_shard *shard,
			    struct sfs_waiter *waiter,
			    struct sfs_cached_directory **ret_listed)
{
	struct sfs_cached_directory *listed;

	pthread_mutex_lock(&s->lock);
	listed = shard->listed;
	if (!listed)
		return wait_for(s, shard, SFS_HEADER_LISTING, waiter);
	if (listed->n_users++ == 0)
		sfs_link_remove(&listed->link);
	*ret_listed = listed;
	pthread_mutex_unlock(&s->lock);
	return 0;
}

void sfs_header_scanner_init(struct sfs_header_scanner *s, struct sfs_runtime *runtime)
{
	*s = (struct sfs_header_scanner){.runtime = runtime};
	sfs_lock_init(&s->lock, SFS_LOCK_HEADER_SCANNER);
	sfs_list_init(&s->queue);
	sfs_list_init(&s->small);
	sfs_list_init(&s->proofs);
	sfs_list_init(&s->unused);
	sfs_account_open(&s->account, &runtime->budget, 0, false, NULL);
}

/* Locked. */
static void cancel_queued(struct sfs_header_scanner *s, struct sfs_link *queue,
			  struct sfs_link *ended)
{
	struct sfs_header_scan *hs;
	struct sfs_link *link;

	while ((link = sfs_list_pop(queue)) != NULL) {
		hs = sfs_container(link, struct sfs_header_scan, link);
		sfs_waiters_tell(&hs->waiters, ended);
		sfs_waiters_tell(&hs->index_waiters, ended);
		sfs_waiters_tell(&hs->late_waiters, ended);
		hs->shard->header_scan = NULL;
		sfs_stretch_let_go(&s->runtime->shards, hs->shard);
		free(hs);
	}
}

void sfs_header_scanner_stop(struct sfs_header_scanner *s)
{
	struct sfs_link ended;

	sfs_list_init(&ended);
	pthread_mutex_lock(&s->lock);
	s->is_closed = true;
	cancel_queued(s, &s->queue, &ended);
	cancel_queued(s, &s->small, &ended);
	cancel_queued(s, &s->proofs, &ended);
	pthread_mutex_unlock(&s->lock);
	sfs_waiters_end(&ended, -ECANCELED);
}

void sfs_header_scanner_done(struct sfs_header_scanner *s)
{
	struct sfs_link *link;

	if (!s->runtime)
		return;
	assert(s->n_running == 0 && s->n_proofs == 0);
	while ((link = sfs_list_pop(&s->unused)) != NULL)
		free_listed(s, sfs_container(link, struct sfs_cached_directory, link));
	sfs_account_close(&s->account);
	pthread_mutex_destroy(&s->lock);
}
