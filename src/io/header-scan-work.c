/* SPDX-License-Identifier: MIT */
/* How this works: an index that is found may do instead of headers.  If it does not, what
 * is read feeds the shard's table and, for members or a listing, a scan of its own. */
#include "io/header-scan-internal.h"

#include "base/alloc.h"
#include "base/ledger.h"

#include <errno.h>

#define MOST_HIDDEN 100 /* lines for hidden members of a shard */

/* ---- headers ---- */

/* Must headers be read, whatever the table knows? */
static bool has_scan(const struct sfs_header_work *w)
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
static void report_hidden(struct sfs_header_work *w, uint64_t start,
			  const struct sfs_tar_entry *entry, int err)
{
	uint32_t n = w->listing->n_hidden;

	if (n <= MOST_HIDDEN)
		sfs_ledger_add(
			SFS_EVENT_HIDDEN, w->hs->shard->name, start,
			err == -EEXIST ? "both are in streams, and the later one in "
					 "samples/"
				       : "it is in streams, but not in samples/",
			"'%.*s' %s%s", (int)entry->n_name, entry->name, why_hidden(err),
			n < MOST_HIDDEN ? "" : " (more of this shard are only counted)");
	else
		sfs_ledger_tally(SFS_EVENT_HIDDEN);
}

/* Does another reader look at what is read for an index? */
static bool has_second_reader(const struct sfs_header_work *w)
{
	return w->has_members && w->hs->scanner->has_second_reader;
}

static void on_member(void *ctx, uint64_t start, const struct sfs_tar_entry *entry)
{
	struct sfs_header_work *w = ctx;
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
	sfs_second_reader_add(&((struct sfs_header_work *)ctx)->second, start, bytes,
			      entry);
}

static void ignore_sample(void *ctx, const struct sfs_extent *extent)
{
}

void sfs_header_work_feed(void *ctx, uint64_t offset, const void *bytes, size_t n)
{
	struct sfs_header_work *w = ctx;
	const struct sfs_scan_sink sink = {.ctx = w,
					   .member = on_member,
					   .sample = ignore_sample,
					   .odd = has_second_reader(w) ? on_odd : NULL};

	sfs_shard_feed(&w->hs->scanner->runtime->shards, w->hs->shard, offset, bytes, n);
	if (has_scan(w))
		sfs_scan_feed(&w->scan, offset, bytes, n, &sink);
}

uint64_t sfs_header_work_wanted(struct sfs_header_work *w)
{
	bool is_done = !w->needs_table &&
		       atomic_load(&w->hs->shard->part.first) != SFS_NOT_FOUND;
	uint64_t a = is_done ? UINT64_MAX : sfs_shard_wanted(w->hs->shard);
	uint64_t b = has_scan(w) ? sfs_scan_wanted(&w->scan) : UINT64_MAX;

	if (a == SFS_WANTED_LATER)
		a = UINT64_MAX; /* a stretch that waits for its shard: another scan's */
	return a < b ? a : b;
}

/* A shard of small files has very many members: they must fit the budget. */
static int count_members(struct sfs_header_work *w)
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

void sfs_header_work_take_chunks(struct sfs_header_work *w)
{
	int err = sfs_header_fetch_take(&w->fetch, sfs_header_work_feed, w);

	if (w->err == 0)
		w->err = err;
	if (w->has_members && w->err == 0)
		w->err = count_members(w);
}

/* ---- an index instead ---- */

/* The headers of the shard were read to its end: does the index of another tool agree
 * with them? */
static void check_claims(struct sfs_header_work *w)
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
	struct sfs_header_work *w = sfs_container(search, struct sfs_header_work, search);
	struct sfs_header_scanner *s = w->hs->scanner;

	/* Posted with the lock held: once the task sees that the search has ended it may
	 * free all. */
	pthread_mutex_lock(&s->lock);
	w->find_err = err;
	w->is_finding = false;
	sfs_threadpool_post(s->runtime->pool, &w->hs->task);
	pthread_mutex_unlock(&s->lock);
}

void sfs_header_work_find_index(struct sfs_header_work *w)
{
	const struct sfs_runtime *runtime = w->hs->scanner->runtime;
	struct sfs_index_finder *indexes = runtime->shards.indexes;

	/* (A listing needs the headers in any case.  But who waits for an index alone
	 * shall not wait for them.) */
	if (!indexes || w->hs->shard->part.whole ||
	    (w->listing && runtime->order.segment != SFS_SEGMENT_RANDOM) ||
	    (!w->needs_members && sfs_shard_wanted(w->hs->shard) == UINT64_MAX))
		return;
	w->is_finding = true;
	w->search = (struct sfs_index_search){.object = w->hs->shard->object,
					      .wants_members = w->needs_members,
					      .done = on_found};
	sfs_index_finder_find(indexes, &w->search);
}

/* Take the members of the index that was found.  They keep its bytes, so the table gets a
 * copy of what it lacks. */
static bool take_members(struct sfs_header_work *w)
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

static void take_found(struct sfs_header_work *w)
{
	struct sfs_shard *shard = w->hs->shard;

	if (w->needs_members && (w->find_err < 0 || !take_members(w))) {
		w->has_members = true;
		if (!w->listing)
			sfs_scan_init(&w->scan, shard->object->size);
	} else if (w->find_err == 0 && !w->needs_members) {
		sfs_shard_adopt(&w->hs->scanner->runtime->shards, shard, &w->search);
	}
	sfs_charge_done(&w->search.bytes);
	if (w->search.claimed_by)
		w->fetch.hints = &w->search.claims;
}

bool sfs_header_work_has_found(struct sfs_header_work *w)
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

void sfs_header_work_keep_result(struct sfs_header_work *w)
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
