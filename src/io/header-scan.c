/* SPDX-License-Identifier: MIT */
/* How this works: a survey reads chunks at the byte that its consumers want next:
 * the shard's table (if it is not complete) and, if somebody waits for one, a
 * scan of its own that fills a listing.  While headers lie close together, chunks
 * are large and the next is fetched ahead; when the wanted byte jumps, chunks are
 * small and single, for then only headers are worth their bytes.
 *
 * All of a survey's state is its task's, which never runs twice at once; what is
 * shared with those who ask is under the scanner's lock.
 *
 * A survey does what was wished for when it began, and nothing else: members and
 * listings need all headers from the first on.  Who wishes for more while it runs waits
 * for another survey, which follows it. */
#include "io/header-scan.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/ledger.h"
#include "base/lock.h"
#include "catalog/index-find.h"
#include "tar/scan.h"

#include <assert.h>
#include <errno.h>

#define MAX_RUNNING 8
#define CHUNK_BYTES ((uint64_t)512 << 10)
#define SMALL_BYTES ((uint64_t)16 << 10)
#define N_CHUNKS    8
#define N_AHEAD	    2 /* chunks, where nobody has said where the next header is */

enum wish { TABLE = 1, MEMBERS = 2, LISTING = 4 }; /* all have the table */

struct chunk {
	struct sfs_range grab;
	struct sfs_header_scan *survey;
	bool is_used;
	uint64_t begun_ns;

	bool is_done; /* under the scanner's lock, and err with it */
	int err;
};

struct sfs_header_scan {
	struct sfs_header_scanner *scanner;
	struct sfs_shard *shard;
	struct sfs_link link; /* in the queue */
	struct sfs_task task;

	/* Under the scanner's lock. */
	struct sfs_link waiters;
	unsigned wishes;	      /* a bit each; final when is_open is false */
	bool is_open;		      /* it has not begun */
	struct sfs_link late_waiters; /* for what is not among its wishes */
	unsigned late_wishes;
	uint64_t progress; /* bytes behind it */

	bool is_finding; /* an index, which may do instead */
	int find_err;

	/* The task's. */
	bool is_begun, is_found, is_jumping;
	bool has_hints; /* the finding's claims are of use */
	struct sfs_index_search finding;
	struct sfs_scan scan; /* for the listing, or for the members */
	struct sfs_directory *listing;
	bool needs_members, has_members; /* has: they are read, not found */
	struct sfs_members members;
	struct sfs_charge members_held; /* counts them */
	struct chunk chunks[N_CHUNKS];
	int n_chunks;	/* that are used */
	uint64_t asked; /* bytes below were asked for or jumped over */
	int err;
};

/* ---- listings ---- */

static void free_listed(struct sfs_header_scanner *s, struct sfs_cached_directory *listed)
{
	sfs_account_give(&s->account, listed->n_bytes);
	listed->shard->listed = NULL;
	sfs_directory_free(listed->listing);
	free(listed);
}

/* Keep a new listing, for one user; drop old ones if memory is short.  Locked. */
static void keep_listing(struct sfs_header_scanner *s, struct sfs_header_scan *survey)
{
	struct sfs_cached_directory *listed = sfs_calloc(1, sizeof *listed);
	uint64_t n_bytes = sfs_directory_memory(survey->listing);
	uint64_t limit = s->runtime->budget.total_bytes / 8;
	struct sfs_link *link;

	listed->listing = steal(&survey->listing);
	listed->shard = survey->shard;
	listed->is_damaged = survey->scan.err < 0;
	while (sfs_account_used(&s->account) + n_bytes > limit &&
	       (link = sfs_list_pop(&s->unused)))
		free_listed(s, sfs_container(link, struct sfs_cached_directory, link));
	listed->n_bytes = n_bytes;
	sfs_account_hold(&s->account, n_bytes, UINT64_MAX);
	survey->shard->listed = listed;
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

/* ---- a survey at work ---- */

static void on_member(void *ctx, uint64_t start, const struct sfs_tar_entry *group)
{
	struct sfs_header_scan *sv = ctx;

	if (sv->has_members)
		sfs_members_add(&sv->members, start, group);
	if (sv->listing && sfs_directory_add(sv->listing, start, group) < 0)
		sfs_ledger_add(SFS_EVENT_HIDDEN, sv->shard->name, start,
			       "it is in the streams, but not in samples/",
			       "'%.*s' is no safe path", (int)group->n_name, group->name);
}

/* Must headers be read, whatever the table knows? */
static bool has_scan(const struct sfs_header_scan *sv)
{
	return sv->listing || sv->has_members;
}

static void ignore_sample(void *ctx, const struct sfs_extent *extent)
{
}

/* What the consumers want next: the lower of the two. */
static uint64_t wanted(struct sfs_header_scan *sv)
{
	uint64_t a = sfs_shard_wanted(sv->shard);
	uint64_t b = has_scan(sv) ? sfs_scan_wanted(&sv->scan) : UINT64_MAX;

	return a < b ? a : b;
}

static void feed(struct sfs_header_scan *sv, uint64_t offset, const void *bytes, size_t n)
{
	const struct sfs_scan_sink sink = {.ctx = sv,
					   .member = on_member,
					   .sample = ignore_sample};

	sfs_shard_feed(&sv->scanner->runtime->shards, sv->shard, offset, bytes, n);
	if (has_scan(sv))
		sfs_scan_feed(&sv->scan, offset, bytes, n, &sink);
}

/* A chunk has come: the mean of the last few.  Locked. */
static void note_time(struct sfs_header_scanner *s, const struct chunk *c)
{
	uint64_t ns = sfs_clock_ns() - c->begun_ns;
	uint64_t *mean = c->grab.n_bytes == CHUNK_BYTES	  ? &s->chunk_ns
			 : c->grab.n_bytes == SMALL_BYTES ? &s->small_ns
							  : NULL;

	if (mean)
		*mean = *mean ? *mean - *mean / 4 + ns / 4 : ns;
}

/* Is it quicker to jump over n bytes than to read on?  As long as one of the two has not
 * been tried, yes.  Chunks come N_AHEAD at a time; and what is not needed should not be
 * fetched for a small gain. */
static bool is_worth_jumping(struct sfs_header_scan *sv, uint64_t n)
{
	struct sfs_header_scanner *s = sv->scanner;
	uint64_t small_ns, chunk_ns;

	pthread_mutex_lock(&s->lock);
	small_ns = s->small_ns;
	chunk_ns = s->chunk_ns;
	pthread_mutex_unlock(&s->lock);
	return small_ns == 0 || chunk_ns == 0 || sv->has_hints ||
	       small_ns < 2 * (n / SFS_TAR_BLOCK) * chunk_ns /
				  (N_AHEAD * CHUNK_BYTES / SFS_TAR_BLOCK);
}

static void on_grab(struct sfs_range *grab, int err)
{
	struct chunk *c = sfs_container(grab, struct chunk, grab);
	struct sfs_header_scanner *s = c->survey->scanner;

	/* Posted with the lock held: once the task sees is_done it may free all. */
	pthread_mutex_lock(&s->lock);
	if (err == 0)
		note_time(s, c);
	c->err = err;
	c->is_done = true;
	sfs_threadpool_post(s->runtime->pool, &c->survey->task);
	pthread_mutex_unlock(&s->lock);
}

static bool is_done(struct chunk *c)
{
	struct sfs_header_scanner *s = c->survey->scanner;
	bool done;

	pthread_mutex_lock(&s->lock);
	done = c->is_done;
	pthread_mutex_unlock(&s->lock);
	return done;
}

static void ask(struct sfs_header_scan *sv, struct chunk *c)
{
	uint64_t n = sv->is_jumping ? SMALL_BYTES : CHUNK_BYTES;
	uint64_t left = sv->shard->object.size - sv->asked;

	c->survey = sv;
	c->is_used = true;
	sv->n_chunks++;
	c->begun_ns = sfs_clock_ns();
	c->is_done = false;
	c->grab = (struct sfs_range){.shard = sv->shard,
				     .offset = sv->asked,
				     .n_bytes = n < left ? n : left,
				     .is_urgent = true,
				     .done = on_grab};
	sv->asked += c->grab.n_bytes;
	sfs_range_start(&sv->scanner->runtime->range_reader, &c->grab, NULL);
}

/* The chunk that was asked for first; NULL if none is on its way or here. */
static struct chunk *oldest(struct sfs_header_scan *sv)
{
	struct chunk *found = NULL;
	int i;

	for (i = 0; i < N_CHUNKS; i++)
		if (sv->chunks[i].is_used &&
		    (!found || sv->chunks[i].grab.offset < found->grab.offset))
			found = &sv->chunks[i];
	return found;
}

/* Members are many in a shard of small files: they must fit the budget. */
static int count_members(struct sfs_header_scan *sv)
{
	struct sfs_shards *shards = &sv->scanner->runtime->shards;
	uint64_t n = sfs_members_memory(&sv->members);
	char size[32];

	if (sfs_charge_count(&sv->members_held, &shards->account, n,
			     sfs_shards_members_most(shards)) == 0)
		return 0;
	sfs_ledger_add(SFS_EVENT_REFUSED, sv->shard->name, SFS_NO_OFFSET, "raise budget=",
		       "the names of its members take %s or more, and the budget has no "
		       "room for them",
		       sfs_format_size(n, size));
	return -ENOMEM;
}

static void take_chunks(struct sfs_header_scan *sv)
{
	struct chunk *c;
	uint64_t at;
	int i;

	while ((c = oldest(sv)) != NULL && is_done(c)) {
		if (c->err < 0)
			sv->err = sv->err < 0 ? sv->err : c->err;
		at = c->grab.offset;
		for (i = 0; c->err == 0 && i < c->grab.n_iov; i++) {
			feed(sv, at, c->grab.iov[i].iov_base, c->grab.iov[i].iov_len);
			at += c->grab.iov[i].iov_len;
		}
		sfs_range_drop(&c->grab);
		if (sv->has_members && sv->err == 0)
			sv->err = count_members(sv);
		c->is_used = false;
		sv->n_chunks--;
	}
}

/* Where an index of another tool has the i-th header. */
static uint64_t hint_at(const struct sfs_index_import *claims, uint64_t i)
{
	return claims->members ? claims->members[i].data - SFS_TAR_BLOCK
			       : claims->starts[i];
}

/* The first such header at `from` or behind it.  false: none is claimed. */
static bool next_hint(const struct sfs_header_scan *sv, uint64_t from, uint64_t *ret)
{
	const struct sfs_index_import *claims = &sv->finding.claims;
	uint64_t low = 0, high, middle,
		 n = claims->members ? claims->n_members : claims->n_samples;

	if (!sv->has_hints)
		return false;
	for (high = n; low < high;) {
		middle = low + (high - low) / 2;
		if (hint_at(claims, middle) < from)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < n)
		*ret = hint_at(claims, low);
	return low < n && *ret < sv->shard->object.size;
}

/* May another chunk be asked for, and where?  Jumping, the next header is known when the
 * one before is here; or somebody has claimed to know. */
static bool may_ask(struct sfs_header_scan *sv)
{
	if (sv->asked >= sv->shard->object.size)
		return false;
	if (sv->is_jumping && oldest(sv))
		return next_hint(sv, sv->asked, &sv->asked);
	return sv->is_jumping || sv->n_chunks < N_AHEAD;
}

/* Ask for what is wanted.  false: nothing is on its way or wanted any more. */
static bool go_on(struct sfs_header_scan *sv)
{
	uint64_t want = wanted(sv);
	int i;

	if (want != UINT64_MAX && want > sv->asked) {
		sv->is_jumping = sv->asked > 0 && is_worth_jumping(sv, want - sv->asked);
		if (sv->is_jumping || !oldest(sv))
			sv->asked = want;
	} else if (want == sv->asked) {
		sv->is_jumping = false; /* headers lie close together again */
	} else if (want < sv->asked && !oldest(sv)) {
		sv->has_hints = false; /* there is a header that was not claimed */
		sv->asked = want;
	}
	for (i = 0; i < N_CHUNKS; i++)
		if (!sv->chunks[i].is_used && want != UINT64_MAX && sv->err == 0 &&
		    may_ask(sv))
			ask(sv, &sv->chunks[i]);
	return oldest(sv) != NULL;
}

/* ---- what others have claimed ---- */

/* Do the claims hold?  The table is at hand, and whole. */
static void judge_claims(struct sfs_header_scan *sv)
{
	const struct sfs_sample_table *table = sfs_shard_table(sv->shard);
	uint64_t n = sfs_sample_table_n(table), i;
	sfs_autofree struct sfs_extent *extents = sfs_calloc(n, sizeof *extents);
	struct sfs_error why = {0};

	for (i = 0; i < n; i++) {
		struct sfs_sample_table_sample s = sfs_sample_table_get(table, i);

		extents[i] = (struct sfs_extent){.start = s.start, .n_bytes = s.n_bytes};
	}
	if (sfs_index_import_agrees(&sv->finding.claims, extents, n, &why) < 0)
		sfs_ledger_add(SFS_EVENT_INDEX, sv->shard->name, SFS_NO_OFFSET,
			       "what the headers say counts",
			       "the index %s does not agree with the shard: %s",
			       sv->finding.claimed_by, why.text);
}

/* ---- an index instead ---- */

static void on_found(struct sfs_index_search *finding, int err)
{
	struct sfs_header_scan *sv =
		sfs_container(finding, struct sfs_header_scan, finding);
	struct sfs_header_scanner *s = sv->scanner;

	/* Posted with the lock held: once the task sees that it is found it may go. */
	pthread_mutex_lock(&s->lock);
	sv->find_err = err;
	sv->is_finding = false;
	sfs_threadpool_post(s->runtime->pool, &sv->task);
	pthread_mutex_unlock(&s->lock);
}

/* Look for an index, unless headers must be read anyway. */
static void find_index(struct sfs_header_scan *sv)
{
	struct sfs_index_finder *indexes = sv->scanner->runtime->shards.indexes;

	if (!indexes || sv->listing || (!sv->needs_members && wanted(sv) == UINT64_MAX))
		return;
	sv->is_finding = true;
	sv->finding = (struct sfs_index_search){.object = &sv->shard->object,
						.wants_members = sv->needs_members,
						.done = on_found};
	sfs_index_finder_find(indexes, &sv->finding);
}

/* The members of the index that was found.  Their bytes are theirs, so the table gets a
 * copy of what it lacks. */
static bool take_members(struct sfs_header_scan *sv)
{
	struct sfs_shards *shards = &sv->scanner->runtime->shards;
	struct sfs_index_search *f = &sv->finding;
	struct sfs_members members;

	if (!f->index.has_members || sfs_index_members(&f->index, &members, NULL) < 0 ||
	    sfs_shard_adopt_copy(shards, sv->shard, &f->index) < 0)
		return false;
	sfs_shard_keep_members(sv->shard, &members, &f->bytes);
	return true;
}

static void take_found(struct sfs_header_scan *sv)
{
	struct sfs_shards *shards = &sv->scanner->runtime->shards;

	if (sv->needs_members && (sv->find_err < 0 || !take_members(sv))) {
		sv->has_members = true;
		if (!sv->listing)
			sfs_scan_init(&sv->scan, sv->shard->object.size);
	} else if (sv->find_err == 0 && !sv->needs_members) {
		sfs_shard_adopt(shards, sv->shard, &sv->finding);
	}
	sfs_charge_done(&sv->finding.bytes);
	sv->has_hints = sv->finding.claimed_by != NULL;
}

/* false: not yet. */
static bool has_found(struct sfs_header_scan *sv)
{
	struct sfs_header_scanner *s = sv->scanner;
	bool is_finding;

	pthread_mutex_lock(&s->lock);
	is_finding = sv->is_finding;
	pthread_mutex_unlock(&s->lock);
	if (is_finding)
		return false;
	if (sv->find_err == -ECANCELED)
		sv->err = -ECANCELED;
	else if (!sv->is_found)
		take_found(sv);
	sv->is_found = true;
	return true;
}

static void begin(struct sfs_header_scan *sv)
{
	struct sfs_header_scanner *s = sv->scanner;
	unsigned wishes;

	pthread_mutex_lock(&s->lock);
	sv->is_open = false;
	wishes = sv->wishes;
	pthread_mutex_unlock(&s->lock);
	sfs_shard_pin(&s->runtime->shards, sv->shard);
	sv->needs_members = (wishes & MEMBERS) && !sfs_shard_members(sv->shard);
	if (wishes & LISTING) {
		sv->listing = sfs_directory_new();
		sfs_scan_init(&sv->scan, sv->shard->object.size);
	}
	sv->is_begun = true;
	if (sv->shard->object.size == 0)
		feed(sv, 0, NULL, 0);
	sv->find_err = -ENOENT;
	find_index(sv);
}

static void start_queued(struct sfs_header_scanner *s);
static struct sfs_header_scan *new_survey(struct sfs_header_scanner *s,
					  struct sfs_shard *shard);

/* What was wished for too late is for the next survey.  Who waits for it is told if there
 * will be none.  Locked. */
static void survey_again(struct sfs_header_scan *sv, struct sfs_link *cancelled)
{
	struct sfs_header_scanner *s = sv->scanner;
	struct sfs_header_scan *next;

	sv->shard->survey = NULL;
	if (s->is_closed) {
		sfs_waiters_tell(&sv->late_waiters, cancelled);
	} else if (sv->late_wishes) {
		next = new_survey(s, sv->shard);
		next->wishes |= sv->late_wishes;
		sfs_list_move(&next->waiters, &sv->late_waiters);
	}
}

static void finish(struct sfs_header_scan *sv)
{
	struct sfs_header_scanner *s = sv->scanner;
	struct sfs_link told, cancelled;

	if (sv->finding.claimed_by && sv->err == 0 &&
	    sfs_sample_table_state(sfs_shard_table(sv->shard)) == SFS_SAMPLE_TABLE_WHOLE)
		judge_claims(sv);
	sfs_index_search_done(&sv->finding);
	if (sv->has_members && sv->err == 0) {
		sfs_members_trim(&sv->members);
		count_members(sv);
		sfs_shard_keep_members(sv->shard, &sv->members, &sv->members_held);
		sfs_shard_save(&s->runtime->shards, sv->shard);
	}
	sfs_list_init(&told);
	sfs_list_init(&cancelled);
	pthread_mutex_lock(&s->lock);
	if (sv->listing && sv->err == 0)
		keep_listing(s, sv);
	sfs_waiters_tell(&sv->waiters, &told);
	survey_again(sv, &cancelled);
	s->n_running--;
	start_queued(s);
	pthread_mutex_unlock(&s->lock);

	sfs_shard_unpin(&s->runtime->shards, sv->shard);
	sfs_waiters_end(&told, sv->err);
	sfs_waiters_end(&cancelled, -ECANCELED);
	sfs_directory_free(sv->listing);
	sfs_scan_done(&sv->scan);
	sfs_members_done(&sv->members);
	sfs_charge_done(&sv->members_held);
	free(sv);
}

static void note_progress(struct sfs_header_scan *sv)
{
	uint64_t want = wanted(sv), size = sv->shard->object.size;

	pthread_mutex_lock(&sv->scanner->lock);
	sv->progress = want < size ? want : size;
	pthread_mutex_unlock(&sv->scanner->lock);
}

static bool run(struct sfs_task *task)
{
	struct sfs_header_scan *sv = sfs_container(task, struct sfs_header_scan, task);

	if (!sv->is_begun)
		begin(sv);
	if (!has_found(sv))
		return true;
	take_chunks(sv);
	note_progress(sv);
	if (go_on(sv))
		return true;
	finish(sv);
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
static struct sfs_header_scan *new_survey(struct sfs_header_scanner *s,
					  struct sfs_shard *shard)
{
	struct sfs_header_scan *sv = shard->survey = sfs_calloc(1, sizeof *sv);

	sv->scanner = s;
	sv->shard = shard;
	sv->task.run = run;
	sv->wishes = TABLE;
	sv->is_open = true;
	sfs_list_init(&sv->waiters);
	sfs_list_init(&sv->late_waiters);
	sfs_list_push(&s->queue, &sv->link);
	return sv;
}

/* Locked. */
static void explain(struct sfs_waiter *waiter, struct sfs_cause *cause)
{
	const struct sfs_shard *shard = waiter->owner;

	sfs_object_explain(&shard->object, SFS_NO_OFFSET, "the headers", cause);
}

/* Wait for a survey of the shard.  Locked; unlocks. */
static int wait_for(struct sfs_header_scanner *s, struct sfs_shard *shard, enum wish wish,
		    struct sfs_waiter *waiter)
{
	struct sfs_header_scan *sv = shard->survey;
	bool is_late;

	if (s->is_closed) {
		pthread_mutex_unlock(&s->lock);
		return -ECANCELED;
	}
	if (!sv)
		sv = new_survey(s, shard);
	if (sv->is_open)
		sv->wishes |= wish;
	is_late = !(sv->wishes & wish);
	if (is_late)
		sv->late_wishes |= wish;
	if (waiter) {
		waiter->lock = &s->lock;
		waiter->explain = explain;
		waiter->owner = shard;
		sfs_list_push(is_late ? &sv->late_waiters : &sv->waiters, &waiter->link);
	}
	start_queued(s);
	pthread_mutex_unlock(&s->lock);
	return -EINPROGRESS;
}

static bool has_table(struct sfs_header_scanner *s, struct sfs_shard *shard)
{
	const struct sfs_sample_table *table;
	bool is_there;

	pthread_rwlock_rdlock(&s->runtime->shards.drop_lock);
	table = sfs_shard_table(shard);
	is_there = table && sfs_sample_table_state(table) != SFS_SAMPLE_TABLE_GROWING;
	pthread_rwlock_unlock(&s->runtime->shards.drop_lock);
	return is_there;
}

int sfs_header_scan_members(struct sfs_header_scanner *s, struct sfs_shard *shard,
			    struct sfs_waiter *waiter)
{
	if (sfs_shard_members(shard) && has_table(s, shard))
		return 0;
	pthread_mutex_lock(&s->lock);
	return wait_for(s, shard, MEMBERS, waiter);
}

int sfs_header_scan_table(struct sfs_header_scanner *s, struct sfs_shard *shard,
			  struct sfs_waiter *waiter)
{
	if (has_table(s, shard))
		return 0;
	pthread_mutex_lock(&s->lock);
	return wait_for(s, shard, TABLE, waiter);
}

uint64_t sfs_header_scan_progress(struct sfs_header_scanner *s, struct sfs_shard *shard)
{
	uint64_t n;

	pthread_mutex_lock(&s->lock);
	n = shard->survey ? shard->survey->progress : 0;
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
	struct sfs_link told, *link;

	sfs_list_init(&told);
	pthread_mutex_lock(&s->lock);
	s->is_closed = true;
	while ((link = sfs_list_pop(&s->queue)) != NULL) {
		struct sfs_header_scan *sv =
			sfs_container(link, struct sfs_header_scan, link);

		sfs_waiters_tell(&sv->waiters, &told);
		sv->shard->survey = NULL;
		free(sv);
	}
	pthread_mutex_unlock(&s->lock);
	sfs_waiters_end(&told, -ECANCELED);
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
