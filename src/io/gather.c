/* SPDX-License-Identifier: MIT */
/* How this works: first come the header patches, which hold none of the range reader's
 * memory; then one grant for all pieces; then all pieces at once.  A counter says how
 * many patches or pieces are in flight; whoever counts it down to zero starts the next
 * phase.  A read that is cancelled returns at once; its requests end by themselves, and
 * the last of them frees the gather. */
#include "io/gather.h"

#include "base/alloc.h"
#include "base/ledger.h"
#include "base/lock.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

struct piece {
	struct sfs_gather *gather;
	uint64_t n_bytes;
	enum { ZEROS, COPY, RANGE } kind;
	bool is_patched;
	bool has_ended; /* the range; guarded by the gather's lock */
	void *copy;
	struct sfs_range range;
	struct sfs_header_patch patch; /* if is_patched */
	uint64_t at;		       /* of the range, from the sample's start */
};

struct sfs_gather {
	struct sfs_range_reader *range_reader;
	int (*map_err)(int err);
	struct piece **pieces;
	size_t n, capacity;

	struct sfs_deferred_call job; /* begin() */
	struct sfs_grant grant;

	pthread_mutex_t lock;  /* guards the rest */
	struct sfs_read *read; /* NULL: cancelled or done */
	enum { PATCHING, ASKING, STARTING, FETCHING } phase;
	size_t n_pending;
	int err;
};

void sfs_gather_free(struct sfs_gather *g)
{
	size_t i;

	for (i = 0; i < g->n; i++) {
		sfs_range_drop(&g->pieces[i]->range);
		sfs_header_patch_done(&g->pieces[i]->patch);
		free(g->pieces[i]->copy);
		free(g->pieces[i]);
	}
	free(g->pieces);
	pthread_mutex_destroy(&g->lock);
	free(g);
}

struct sfs_gather *sfs_gather_new(struct sfs_range_reader *range_reader,
				  struct sfs_read *read)
{
	struct sfs_gather *g = sfs_calloc(1, sizeof *g);

	g->range_reader = range_reader;
	g->read = read;
	sfs_lock_init(&g->lock, SFS_LOCK_GATHER);
	return g;
}

static struct piece *add_piece(struct sfs_gather *g, uint64_t n)
{
	struct piece *p = sfs_calloc(1, sizeof *p);

	if (g->n == g->capacity) {
		g->capacity = g->capacity ? 2 * g->capacity : 4;
		g->pieces = sfs_reallocarray(g->pieces, g->capacity, sizeof *g->pieces);
	}
	g->pieces[g->n++] = p;
	p->gather = g;
	p->n_bytes = n;
	return p;
}

static void on_range(struct sfs_range *range, int err);
static void on_patch(struct sfs_header_patch *patch, int err);

static struct piece *add_range(struct sfs_gather *g, struct sfs_shard *shard,
			       uint64_t offset, uint64_t n)
{
	struct piece *p = add_piece(g, n);

	p->range = (struct sfs_range){.shard = shard,
				      .offset = offset,
				      .n_bytes = n,
				      .is_urgent = true,
				      .done = on_range};
	p->kind = RANGE;
	g->grant.n_bytes += sfs_range_cost(n);
	return p;
}

void sfs_gather_add(struct sfs_gather *g, struct sfs_shard *shard, uint64_t offset,
		    uint64_t n)
{
	uint64_t piece;

	for (; n > 0; n -= piece, offset += piece) {
		piece = n < SFS_RANGE_MAX ? n : SFS_RANGE_MAX;
		add_range(g, shard, offset, piece);
	}
}

void sfs_gather_add_unverified(struct sfs_gather *g, struct sfs_shard *shard,
			       uint64_t start, uint64_t n)
{
	size_t first = g->n;

	sfs_gather_add(g, shard, start, n);
	g->pieces[first]->range.is_unverified = true;
}

void sfs_gather_add_patched(struct sfs_gather *g, const struct sfs_patched_sample *sample,
			    uint64_t at, uint64_t n)
{
	struct piece *p;
	uint64_t piece;

	for (; n > 0; n -= piece, at += piece) {
		piece = n < SFS_RANGE_MAX ? n : SFS_RANGE_MAX;
		p = add_range(g, sample->shard, sample->start + at, piece);
		p->is_patched = true;
		p->at = at;
		p->patch = (struct sfs_header_patch){.sample = *sample, .done = on_patch};
	}
}

void sfs_gather_add_zeros(struct sfs_gather *g, uint64_t n)
{
	if (n > 0)
		add_piece(g, n)->kind = ZEROS;
}

void sfs_gather_add_copy(struct sfs_gather *g, const void *bytes, size_t n)
{
	struct piece *p = add_piece(g, n);

	p->kind = COPY;
	p->copy = memcpy(sfs_malloc(n), bytes, n);
}

/* All pieces are there: fill the read. */
static void fill(struct sfs_gather *g, struct sfs_read *read)
{
	const struct piece *p;
	size_t i;
	int k;

	read->is_scarce = true;
	for (i = 0; i < g->n; i++) {
		p = g->pieces[i];
		if (p->kind == ZEROS)
			sfs_read_add_zeros(read, p->n_bytes);
		else if (p->kind == COPY)
			sfs_read_add(read, p->copy, p->n_bytes);
		else if (p->is_patched)
			sfs_header_patch_apply(&p->patch, &p->range, p->at);
		for (k = 0; k < p->range.n_iov; k++)
			sfs_read_add(read, p->range.iov[k].iov_base,
				     p->range.iov[k].iov_len);
	}
}

/* Nothing is in flight any more: end the read, unless it was cancelled. */
static void finish(struct sfs_gather *g)
{
	struct sfs_read *read;
	int err;

	pthread_mutex_lock(&g->lock);
	read = steal(&g->read);
	err = g->err;
	pthread_mutex_unlock(&g->lock);
	if (read && err == 0) {
		fill(g, read);
		read->done(read, 0);
		return; /* releasing frees */
	}
	if (read) {
		sfs_read_reset(read);
		/* Before the free: see io/request.h about cancel. */
		read->done(read, g->map_err ? g->map_err(err) : err);
	}
	sfs_gather_free(g);
}

static void granted(struct sfs_grant *grant);

/* One more patch or piece has ended. */
static void count_down(struct sfs_gather *g, int err)
{
	bool is_last, goes_on;

	pthread_mutex_lock(&g->lock);
	if (err < 0 && g->err == 0)
		g->err = err;
	is_last = --g->n_pending == 0;
	goes_on = is_last && g->phase == PATCHING && g->read && g->err == 0;
	if (goes_on)
		g->phase = ASKING;
	pthread_mutex_unlock(&g->lock);
	if (goes_on) {
		g->grant.granted = granted;
		sfs_range_reader_request(g->range_reader, &g->grant);
	} else if (is_last) {
		finish(g);
	}
}

static void on_range(struct sfs_range *range, int err)
{
	struct piece *p = sfs_container(range, struct piece, range);

	pthread_mutex_lock(&p->gather->lock);
	p->has_ended = true;
	pthread_mutex_unlock(&p->gather->lock);
	count_down(p->gather, err);
}

static void on_patch(struct sfs_header_patch *patch, int err)
{
	count_down(sfs_container(patch, struct piece, patch)->gather, err);
}

/* The read was cancelled.  Locked. */
static void cancel_ranges(struct sfs_gather *g)
{
	size_t i;

	for (i = 0; i < g->n; i++)
		if (g->pieces[i]->kind == RANGE)
			atomic_store(&g->pieces[i]->range.request.is_cancelled, true);
}

/* The memory is granted: fetch all pieces. */
static void granted(struct sfs_grant *grant)
{
	struct sfs_gather *g = sfs_container(grant, struct sfs_gather, grant);
	size_t i;

	pthread_mutex_lock(&g->lock);
	g->phase = STARTING;
	g->n_pending = 1; /* ours: the gather must not end before all have begun */
	for (i = 0; i < g->n; i++)
		g->n_pending += g->pieces[i]->kind == RANGE;
	pthread_mutex_unlock(&g->lock);
	for (i = 0; i < g->n; i++)
		if (g->pieces[i]->kind == RANGE)
			sfs_range_start(g->range_reader, &g->pieces[i]->range,
					&g->range_reader->account);
	pthread_mutex_lock(&g->lock);
	g->phase = FETCHING;
	if (!g->read)
		cancel_ranges(g);
	pthread_mutex_unlock(&g->lock);
	count_down(g, 0);
}

static void begin(struct sfs_gather *g)
{
	size_t i;

	g->n_pending = 1; /* ours */
	for (i = 0; i < g->n; i++)
		g->n_pending += g->pieces[i]->is_patched;
	for (i = 0; i < g->n; i++)
		if (g->pieces[i]->is_patched)
			sfs_header_patch_start(g->range_reader, &g->pieces[i]->patch);
	count_down(g, 0);
}

bool sfs_gather_cancel(struct sfs_gather *g, struct sfs_read *read)
{
	bool is_ours, is_over = false;
	size_t i;

	/* While the read is in g->read, g lives. */
	pthread_mutex_lock(&g->lock);
	is_ours = g->read == read;
	g->read = NULL;
	if (is_ours && g->phase == ASKING)
		is_over = sfs_range_reader_take_back(g->range_reader, &g->grant);
	for (i = 0; is_ours && g->phase == PATCHING && i < g->n; i++)
		sfs_header_patch_cancel(&g->pieces[i]->patch);
	if (is_ours && g->phase == FETCHING)
		cancel_ranges(g);
	pthread_mutex_unlock(&g->lock);
	if (is_ours)
		sfs_read_reset(read);
	if (is_over)
		sfs_gather_free(g);
	return is_ours;
}

/* Explain the first piece that is missing.  Locked. */
static void explain_piece(const struct sfs_gather *g, struct sfs_cause *cause)
{
	const struct piece *p;
	size_t i;

	for (i = 0; i < g->n; i++) {
		p = g->pieces[i];
		if (g->phase == PATCHING && p->is_patched) {
			sfs_object_explain(p->patch.sample.shard->object,
					   p->patch.sample.start,
					   "the headers of a large sample", cause);
			return;
		}
		if (g->phase != PATCHING && p->kind == RANGE && !p->has_ended) {
			sfs_object_explain(p->range.shard->object, p->range.offset,
					   "bytes", cause);
			return;
		}
	}
}

void sfs_gather_explain(struct sfs_gather *g, struct sfs_cause *cause)
{
	pthread_mutex_lock(&g->lock);
	if (g->phase == ASKING)
		sfs_cause_set(cause, NULL, SFS_NO_OFFSET,
			      "memory for %llu bytes: budget= is used up",
			      (unsigned long long)g->grant.n_bytes);
	else
		explain_piece(g, cause);
	pthread_mutex_unlock(&g->lock);
}

void sfs_gather_release(struct sfs_gather *g, struct sfs_read *read)
{
	sfs_gather_free(g);
	sfs_read_reset(read);
}

static void run_job(struct sfs_deferred_call *job)
{
	begin(sfs_container(job, struct sfs_gather, job));
}

void sfs_gather_post(struct sfs_gather *g, int (*map_err)(int err),
		     struct sfs_deferred *out)
{
	g->map_err = map_err;
	sfs_deferred_add(out, &g->job, run_job);
}

static bool cancel(struct sfs_read *read)
{
	return sfs_gather_cancel(read->owner, read);
}

static void release(struct sfs_read *read)
{
	sfs_gather_release(read->owner, read);
}

static void gather_explain(struct sfs_read *read, struct sfs_cause *cause)
{
	sfs_gather_explain(read->owner, cause);
}

void sfs_gather_start(struct sfs_gather *g, int (*map_err)(int err))
{
	g->map_err = map_err;
	g->read->cancel = cancel;
	g->read->explain = gather_explain;
	g->read->release = release;
	g->read->owner = g;
	begin(g);
}
