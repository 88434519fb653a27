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
 * another scan, which follows it. */
#include "io/header-scan.h"

#include "base/alloc.h"
#include "base/ledger.h"
#include "base/lock.h"
#include "catalog/index-find.h"
#include "catalog/second-reader.h"
#include "tar/scan.h"

#include <assert.h>
#include <errno.h>

#define MAX_RUNNING 8
#define MOST_HIDDEN 100 /* lines for hidden members of a shard */

enum need { TABLE = 1, MEMBERS = 2, LISTING = 4 }; /* the table is always made */

/* What a scan at work needs. */
struct work {
	struct sfs_header_scan *hs;

	bool is_finding; /* an index; under the scanner's lock, and find_err with it */
	int find_err;

	bool is_found; /* the search has ended, and its result was used */
	struct sfs_index_search search;
	struct sfs_scan scan; /* for the listing, or for the members */
	struct sfs_directory *listing;
	bool needs_members, has_members; /* has: they are read, not found */
	struct sfs_members members;
	struct sfs_charge members_held; /* counts them */
	struct sfs_second_reader second;
	struct sfs_header_fetch fetch;
	int err;
};

struct sfs_header_scan {
	struct sfs_header_scanner *scanner;
	struct sfs_shard *shard;
	struct sfs_link link; /* in the queue */
	struct sfs_task task;
	struct work *work; /* the task's; NULL: the scan has not begun */

	/* Under the scanner's lock. */
	struct sfs_link waiters;
	unsigned needs;		      /* a bit each; final when is_open is false */
	bool is_open;		      /* the scan has not begun */
	struct sfs_link late_waiters; /* for what is not among its needs */
	unsigned late_needs;
	uint64_t progress; /* bytes that it has scanned or jumped over */
};

/* ---- listings ---- */

static void free_listed(struct sfs_header_scanner *s, struct sfs_cached_directory *listed)
{
	sfs_account_give(&s->account, listed->n_bytes);
	listed->shard->listed = NULL;
	sfs_directory_free(listed->listing);
	free(listed);
}

/* Keep a new listing; drop unused ones if memory is short.  Locked. */
static void keep_listing(struct sfs_header_scanner *s, struct work *w)
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

/* ---- headers ---- */

/* Must headers be read, whatever the table knows? */
static bool has_scan(const struct work *w)
{
	return w->listing || w->has_members;
}

/* Why is a member hidden, or another by it? */
static const char *why_hidden(int err)
{
	switch (err) {
	case -EEXIST: return "is in the shard once more: this one hides the one before";
	case -ENOTDIR: return "is hidden: it would be both a file and a folder";
	default: return "is not a safe path";
	}
}

/* A line for each would be too many where a shard was packed twice. */
static void report_hidden(struct work *w, uint64_t start,
			  const struct sfs_tar_entry *entry, int err)
{
	uint32_t n = w->listing->n_hidden;

	if (n <= MOST_HIDDEN)
		sfs_ledger_add(SFS_EVENT_HIDDEN, w->hs->shard->name, start,
			       err == -EEXIST ? "both are in streams, and the later one in "
						"samples/"
					      : "it is in streams, but not in samples/",
			       "'%.*s' %s%s", (int)entry->n_name, entry->name,
			       why_hidden(err),
			       n < MOST_HIDDEN ? ""
					       : " (more of this shard are only counted)");
	else
		sfs_ledger_tally(SFS_EVENT_HIDDEN);
}

/* Does another reader look at what is read for an index? */
static bool has_second_reader(const struct work *w)
{
	return w->has_members && w->hs->scanner->has_second_reader;
}

static void on_member(void *ctx, uint64_t start, const struct sfs_tar_entry *entry)
{
	struct work *w = ctx;
	int err = 0;

	if (w->has_members)
		sfs_members_add(&w->members, start, entry);
	if (w->listing)
		err = sfs_directory_add(w->listing, start, entry);
	if (err < 0)
		report_hidden(w, start, entry, err);
}

static void on_odd(void *ctx, uint64_t start, const unsigned char *bytes,
		   const struct sfs_tar_entry *entry)
{
	sfs_second_reader_add(&((struct work *)ctx)->second, start, bytes, entry);
}

static void ignore_sample(void *ctx, const struct sfs_extent *extent)
{
}

static void feed(void *ctx, uint64_t offset, const void *bytes, size_t n)
{
	struct work *w = ctx;
	const struct sfs_scan_sink sink = {.ctx = w,
					   .member = on_member,
					   .sample = ignore_sample,
					   .odd = has_second_reader(w) ? on_odd : NULL};

	sfs_shard_feed(&w->hs->scanner->runtime->shards, w->hs->shard, offset, bytes, n);
	if (has_scan(w))
		sfs_scan_feed(&w->scan, offset, bytes, n, &sink);
}

/* The byte that the consumers want next: the lower of the two. */
static uint64_t wanted(struct work *w)
{
	uint64_t a = sfs_shard_wanted(w->hs->shard);
	uint64_t b = has_scan(w) ? sfs_scan_wanted(&w->scan) : UINT64_MAX;

	return a < b ? a : b;
}

/* A shard of small files has very many members: they must fit the budget. */
static int count_members(struct work *w)
{
	struct sfs_shards *shards = &w->hs->scanner->runtime->shards;
	uint64_t n = sfs_members_memory(&w->members);
	char size[32];

	if (sfs_charge_count(&w->members_held, &shards->account, n,
			     sfs_shards_members_most(shards)) == 0)
		return 0;
	sfs_ledger_add(SFS_EVENT_REFUSED, w->hs->shard->name, SFS_NO_OFFSET,
		       "raise budget=",
		       "the names of its members take %s or more, which do not fit the "
		       "budget",
		       sfs_format_size(n, size));
	return -ENOMEM;
}

static void take_chunks(struct work *w)
{
	int err = sfs_header_fetch_take(&w->fetch, feed, w);

	if (w->err == 0)
		w->err = err;
	if (w->has_members && w->err == 0)
		w->err = count_members(w);
}

/* ---- an index instead ---- */

/* The headers of the shard were read to its end: does the index of another tool agree
 * with them? */
static void check_claims(struct work *w)
{
	const struct sfs_sample_table *table = sfs_shard_table(w->hs->shard);
	uint64_t n = sfs_sample_table_n(table), i;
	sfs_autofree struct sfs_extent *extents = sfs_calloc(n, sizeof *extents);
	struct sfs_error why = {0};

	for (i = 0; i < n; i++) {
		struct sfs_sample_table_sample s = sfs_sample_table_get(table, i);

		extents[i] = (struct sfs_extent){.start = s.start, .n_bytes = s.n_bytes};
	}
	if (sfs_index_import_agrees(&w->search.claims, extents, n, &why) < 0)
		sfs_ledger_add(SFS_EVENT_INDEX, w->hs->shard->name, SFS_NO_OFFSET,
			       "the headers are used instead",
			       "the index %s does not agree with the shard: %s",
			       w->search.claimed_by, why.text);
}

static void on_found(struct sfs_index_search *search, int err)
{
	struct work *w = sfs_container(search, struct work, search);
	struct sfs_header_scanner *s = w->hs->scanner;

	/* Posted with the lock held: once the task sees that the search has ended it may
	 * free all. */
	pthread_mutex_lock(&s->lock);
	w->find_err = err;
	w->is_finding = false;
	sfs_threadpool_post(s->runtime->pool, &w->hs->task);
	pthread_mutex_unlock(&s->lock);
}

/* Look for an index, unless headers must be read anyway. */
static void find_index(struct work *w)
{
	struct sfs_index_finder *indexes = w->hs->scanner->runtime->shards.indexes;

	if (!indexes || w->listing || (!w->needs_members && wanted(w) == UINT64_MAX))
		return;
	w->is_finding = true;
	w->search = (struct sfs_index_search){.object = &w->hs->shard->object,
					      .wants_members = w->needs_members,
					      .done = on_found};
	sfs_index_finder_find(indexes, &w->search);
}

/* Take the members of the index that was found.  They keep its bytes, so the table gets a
 * copy of what it lacks. */
static bool take_members(struct work *w)
{
	struct sfs_shards *shards = &w->hs->scanner->runtime->shards;
	struct sfs_index_search *f = &w->search;
	struct sfs_members members;

	if (!f->index.has_members || sfs_index_members(&f->index, &members, NULL) < 0 ||
	    sfs_shard_adopt_copy(shards, w->hs->shard, &f->index) < 0)
		return false;
	sfs_shard_keep_members(w->hs->shard, &members, &f->bytes);
	return true;
}

static void take_found(struct work *w)
{
	struct sfs_shard *shard = w->hs->shard;

	if (w->needs_members && (w->find_err < 0 || !take_members(w))) {
		w->has_members = true;
		if (!w->listing)
			sfs_scan_init(&w->scan, shard->object.size);
	} else if (w->find_err == 0 && !w->needs_members) {
		sfs_shard_adopt(&w->hs->scanner->runtime->shards, shard, &w->search);
	}
	sfs_charge_done(&w->search.bytes);
	if (w->search.claimed_by)
		w->fetch.hints = &w->search.claims;
}

/* Has the search for an index ended, if there was one? */
static bool has_found(struct work *w)
{
	struct sfs_header_scanner *s = w->hs->scanner;
	bool is_finding;

	pthread_mutex_lock(&s->lock);
	is_finding = w->is_finding;
	pthread_mutex_unlock(&s->lock);
	if (is_finding)
		return false;
	if (w->find_err == -ECANCELED)
		w->err = -ECANCELED;
	else if (!w->is_found)
		take_found(w);
	w->is_found = true;
	return true;
}

/* ---- one scan ---- */

static struct work *begin(struct sfs_header_scan *hs)
{
	struct sfs_header_scanner *s = hs->scanner;
	struct work *w = sfs_calloc(1, sizeof *w);
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
					     .times = &s->times};
	w->needs_members = (needs & MEMBERS) && !sfs_shard_members(hs->shard);
	if (needs & LISTING) {
		w->listing = sfs_directory_new();
		sfs_scan_init(&w->scan, hs->shard->object.size);
	}
	if (hs->shard->object.size == 0)
		feed(w, 0, NULL, 0);
	w->find_err = -ENOENT;
	find_index(w);
	return w;
}

static void start_queued(struct sfs_header_scanner *s);
static struct sfs_header_scan *new_scan(struct sfs_header_scanner *s,
					struct sfs_shard *shard);

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
		next = new_scan(s, hs->shard);
		next->needs |= hs->late_needs;
		sfs_list_move(&next->waiters, &hs->late_waiters);
	}
}

static void free_work(struct work *w)
{
	sfs_directory_free(w->listing);
	sfs_scan_done(&w->scan);
	sfs_members_done(&w->members);
	sfs_charge_done(&w->members_held);
	sfs_second_reader_done(&w->second);
	free(w);
}

/* Hand over what was read. */
static void keep_result(struct work *w)
{
	struct sfs_shards *shards = &w->hs->scanner->runtime->shards;
	struct sfs_shard *shard = w->hs->shard;

	if (w->search.claimed_by && w->err == 0 &&
	    sfs_sample_table_state(sfs_shard_table(shard)) == SFS_SAMPLE_TABLE_WHOLE)
		check_claims(w);
	sfs_index_search_done(&w->search);
	if (w->has_members && w->err == 0) {
		sfs_members_trim(&w->members);
		count_members(w);
		sfs_shard_keep_members(shard, &w->members, &w->members_held);
		sfs_shard_save(shards, shard);
		sfs_second_reader_report(&w->second, shard->name);
	}
}

static void finish(struct sfs_header_scan *hs)
{
	struct sfs_header_scanner *s = hs->scanner;
	struct work *w = hs->work;
	struct sfs_link ended, cancelled;

	keep_result(w);
	sfs_list_init(&ended);
	sfs_list_init(&cancelled);
	pthread_mutex_lock(&s->lock);
	if (w->listing && w->err == 0)
		keep_listing(s, w);
	sfs_waiters_tell(&hs->waiters, &ended);
	scan_again(hs, &cancelled);
	s->n_running--;
	start_queued(s);
	pthread_mutex_unlock(&s->lock);

	sfs_shard_unpin(&s->runtime->shards, hs->shard);
	sfs_waiters_end(&ended, w->err);
	sfs_waiters_end(&cancelled, -ECANCELED);
	free_work(w);
	free(hs);
}

static void note_progress(struct sfs_header_scan *hs, uint64_t want)
{
	uint64_t size = hs->shard->object.size;

	pthread_mutex_lock(&hs->scanner->lock);
	hs->progress = want < size ? want : size;
	pthread_mutex_unlock(&hs->scanner->lock);
}

static bool scan_run(struct sfs_task *task)
{
	struct sfs_header_scan *hs = sfs_container(task, struct sfs_header_scan, task);
	uint64_t want;

	if (!hs->work)
		hs->work = begin(hs);
	if (!has_found(hs->work))
		return true;
	take_chunks(hs->work);
	want = wanted(hs->work);
	note_progress(hs, want);
	if (sfs_header_fetch_ask(&hs->work->fetch, hs->work->err < 0 ? UINT64_MAX : want))
		return true;
	finish(hs);
	return false;
}

/* ---- who asks ---- */

/* Locked. */
static void start_queued(struct sfs_header_scanner *s)
{
	struct sfs_link *link;

	while (s->n_running < MAX_RUNNING && (link = sfs_list_pop(&s->queue)) != NULL) {
		s->n_running++;
		sfs_threadpool_post(
			s->runtime->pool,
			&sfs_container(link, struct sfs_header_scan, link)->task);
	}
}

/* Locked. */
static struct sfs_header_scan *new_scan(struct sfs_header_scanner *s,
					struct sfs_shard *shard)
{
	struct sfs_header_scan *hs = shard->header_scan = sfs_calloc(1, sizeof *hs);

	hs->scanner = s;
	hs->shard = shard;
	hs->task.run = scan_run;
	hs->needs = TABLE;
	hs->is_open = true;
	sfs_list_init(&hs->waiters);
	sfs_list_init(&hs->late_waiters);
	sfs_list_push(&s->queue, &hs->link);
	return hs;
}

/* Locked. */
static void scan_explain(struct sfs_waiter *waiter, struct sfs_cause *cause)
{
	const struct sfs_shard *shard = waiter->owner;

	sfs_object_explain(&shard->object, SFS_NO_OFFSET, "the headers", cause);
}

/* Wait for a scan of the shard, queued or new.  Locked; unlocks. */
static int wait_for(struct sfs_header_scanner *s, struct sfs_shard *shard, enum need need,
		    struct sfs_waiter *waiter)
{
	struct sfs_header_scan *hs = shard->header_scan;
	bool is_late;

	if (s->is_closed) {
		pthread_mutex_unlock(&s->lock);
		return -ECANCELED;
	}
	if (!hs)
		hs = new_scan(s, shard);
	if (hs->is_open)
		hs->needs |= need;
	is_late = !(hs->needs & need);
	if (is_late)
		hs->late_needs |= need;
	if (waiter) {
		waiter->lock = &s->lock;
		waiter->explain = scan_explain;
		waiter->owner = shard;
		sfs_list_push(is_late ? &hs->late_waiters : &hs->waiters, &waiter->link);
	}
	start_queued(s);
	pthread_mutex_unlock(&s->lock);
	return -EINPROGRESS;
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

int sfs_header_scan_members(struct sfs_header_scanner *s, struct sfs_shard *shard,
			    struct sfs_waiter *waiter)
{
	if (is_scanned(s, shard, true))
		return 0;
	pthread_mutex_lock(&s->lock);
	return wait_for(s, shard, MEMBERS, waiter);
}

int sfs_header_scan_table(struct sfs_header_scanner *s, struct sfs_shard *shard,
			  struct sfs_waiter *waiter)
{
	if (is_scanned(s, shard, false))
		return 0;
	pthread_mutex_lock(&s->lock);
	return wait_for(s, shard, TABLE, waiter);
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
		return wait_for(s, shard, LISTING, waiter);
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
	sfs_list_init(&s->unused);
	sfs_account_open(&s->account, &runtime->budget, 0, false, NULL);
}

void sfs_header_scanner_stop(struct sfs_header_scanner *s)
{
	struct sfs_link ended, *link;

	sfs_list_init(&ended);
	pthread_mutex_lock(&s->lock);
	s->is_closed = true;
	while ((link = sfs_list_pop(&s->queue)) != NULL) {
		struct sfs_header_scan *hs =
			sfs_container(link, struct sfs_header_scan, link);

		sfs_waiters_tell(&hs->waiters, &ended);
		hs->shard->header_scan = NULL;
		free(hs);
	}
	pthread_mutex_unlock(&s->lock);
	sfs_waiters_end(&ended, -ECANCELED);
}

void sfs_header_scanner_done(struct sfs_header_scanner *s)
{
	struct sfs_link *link;

	if (!s->runtime)
		return;
	assert(s->n_running == 0);
	while ((link = sfs_list_pop(&s->unused)) != NULL)
		free_listed(s, sfs_container(link, struct sfs_cached_directory, link));
	sfs_account_close(&s->account);
	pthread_mutex_destroy(&s->lock);
}
