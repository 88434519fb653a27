/* SPDX-License-Identifier: MIT */
/* How this works: the stream is prefetched in chunks, each some megabytes of it
 * (chunk.h).  The samples of a run are read by one request, whose pieces of memory are
 * where each of them belongs; the bytes in between go where nobody looks, or nowhere.  The
 * larger a chunk, the more neighbours it has.
 *
 * The runs of a chunk are requested in the order of their places.  The next chunk is
 * begun while one is read, so that order matters only to the first ones, which are small.
 *
 * Progress is certain whatever the budget.  When the account refuses memory for the very
 * next sample, that is handed on without a buffer, and so is a sample that is larger than
 * a chunk: the cursor fetches those in pieces, from the range reader's own account. */
#include "base/alloc.h"
#include "base/ledger.h"
#include "stream/prefetch/chunk.h"
#include "stream/prefetch/prefetch-internal.h"
#include "stream/prefetch/sizing.h"

#include <errno.h>
#include <string.h>

#define GAP_BUFFER   ((uint64_t)64 << 10)
#define LARGE_SAMPLE ((uint64_t)4 << 20) /* is fetched in pieces */
#define LARGE_RUN    ((uint64_t)16 << 10)
#define QUEUED_BYTES ((uint64_t)1 << 20) /* of small runs: see max_in_flight() */
#define QUEUED_MOST  128

struct singles {
	struct sfs_prefetch base;
	uint64_t position; /* in the part of the epoch, of the next sample in no chunk */
	struct sfs_chunk *first, *last;
	struct sfs_chunk *refused; /* the next one, if the account refused it; or NULL */
	bool has_failed;       /* a run has; only a waiting reader goes on */
	struct sfs_chunk *current; /* has the next sample to take; NULL: none has */
	uint32_t next;	       /* which one that is */
	uint64_t chunk_bytes;  /* of the next one */
	uint64_t ahead_bytes;  /* in chunks, from `current` on, less what was taken */
	uint64_t n_runs, run_bytes; /* of all chunks, for the mean size */
	uint64_t rate;		    /* of the path; 0: not known */
};

struct single_part {
	struct sfs_part base;
	struct sfs_chunk *chunk;
	struct sfs_run *run;
	void *gap; /* where the bytes between samples go; or NULL */
};

static struct singles *singles_of(const struct sfs_prefetch *base)
{
	return sfs_container(base, struct singles, base);
}

/* ---- sizes ---- */

static uint64_t chunk_most(const struct singles *p)
{
	return sfs_sizing_chunk(sfs_account_share(p->base.account));
}

static uint64_t mean_run(const struct singles *p)
{
	return p->n_runs ? p->run_bytes / p->n_runs + 1 : sfs_chunk_mean_sample(&p->base);
}

/* The rate of the path, as far as large runs have shown it: of small ones, it is only
 * that of the requests. */
static void learn_rate(struct singles *p, const struct sfs_chunk *c)
{
	struct sfs_netpath path = sfs_prefetch_slowest_path(p->base.runtime);

	if (c->fetched_bytes > 0 && c->fetched_bytes >= LARGE_RUN * c->n_runs &&
	    path.bytes_per_s > p->rate)
		p->rate = path.bytes_per_s;
}

/* Small runs end faster than we are woken to request more: so many are queued. */
static uint32_t max_in_flight(const struct singles *p)
{
	struct sfs_netpath path = sfs_prefetch_slowest_path(p->base.runtime);
	uint32_t n = sfs_prefetch_max_in_flight(&p->base);
	uint64_t queued = QUEUED_BYTES / mean_run(p);

	if (sfs_netpath_is_far(&path))
		return n;
	queued = queued < QUEUED_MOST ? queued : QUEUED_MOST;
	return n > queued ? n : (uint32_t)queued;
}

/* Are there chunks enough ahead?  What comes next must last until they are here. */
static bool has_enough(const struct singles *p)
{
	struct sfs_netpath path = sfs_prefetch_slowest_path(p->base.runtime);
	uint64_t lead = sfs_sizing_lead(&path, mean_run(p)), most = 2 * chunk_most(p);

	lead = lead < most ? lead : most;
	return p->ahead_bytes >= (lead > p->chunk_bytes ? lead : p->chunk_bytes);
}

/* ---- chunks ---- */

/* Free the first chunks that were taken and released. */
static void drop_chunks(struct singles *p)
{
	struct sfs_chunk *c;

	while ((c = p->first) != NULL && c != p->current && c->n_in_flight == 0 &&
	       (!c->buffer || c->buffer->n_users == 0)) {
		p->first = c->next;
		if (!p->first)
			p->last = NULL;
		sfs_chunk_free(c);
	}
}

static bool has_memory(struct singles *p, const struct sfs_chunk *c)
{
	uint64_t n = sfs_slab_count(c->n_bytes) * SFS_SLAB_BYTES;

	p->base.is_refused = n > 0 && sfs_account_take(p->base.account, n) < 0;
	return !p->base.is_refused;
}

static void append(struct singles *p, struct sfs_chunk *c)
{
	uint32_t i;

	if (p->last)
		p->last->next = c;
	else
		p->first = c;
	p->last = c;
	if (!p->current) {
		p->current = c;
		p->next = 0;
	}
	p->position += c->n;
	for (i = 0; i < c->n; i++)
		p->ahead_bytes += c->samples[i].n_bytes;
}

/* The next chunk: twice as large as the one before, up to the most. */
static struct sfs_chunk *next_chunk(struct singles *p)
{
	uint64_t most = chunk_most(p), n = p->chunk_bytes < most ? p->chunk_bytes : most;
	struct sfs_chunk *c = p->refused;

	p->refused = NULL;
	if (c)
		return c;
	c = sfs_chunk_new(&p->base, p->position, n);
	sfs_chunk_cut(c, n);
	sfs_chunk_lay_out(c, most < LARGE_SAMPLE ? most : LARGE_SAMPLE);
	return c;
}

/* Add a chunk; a smaller one if the account refuses, but not while there are others.
 * `must`: the next sample at least, if need be without memory.  false: none was added. */
static bool add_chunk(struct singles *p, bool must)
{
	uint64_t most = chunk_most(p);
	struct sfs_chunk *c;

	if (p->position == p->base.order->n_samples)
		return false;
	c = next_chunk(p);
	while (!has_memory(p, c)) {
		if (c->n == 1 && must) {
			sfs_chunk_lay_out(c, 0);
			break;
		}
		if (c->n == 1 || p->current) {
			p->refused = c;
			return false;
		}
		sfs_chunk_cut(c, c->target / 2);
		sfs_chunk_lay_out(c, c->most);
	}
	if (c->n_bytes > 0)
		sfs_chunk_fill(c, &p->base);
	sfs_chunk_make_runs(c, &p->base, p->rate);
	p->n_runs += c->n_runs;
	p->run_bytes += c->n_bytes;
	append(p, c);
	p->chunk_bytes = 2 * c->target < most ? 2 * c->target : most;
	return true;
}

/* ---- requests ---- */

/* The memory for the samples of a run that are not here yet, and for
 * what lies between. */
struct pieces {
	struct iovec *iov;
	int n, capacity;
};

static void add_piece(struct pieces *pieces, void *p, size_t n)
{
	if (pieces->n == pieces->capacity) {
		pieces->capacity = pieces->capacity ? 2 * pieces->capacity : 8;
		pieces->iov = sfs_reallocarray(pieces->iov, (size_t)pieces->capacity,
					       sizeof *pieces->iov);
	}
	pieces->iov[pieces->n++] = (struct iovec){.iov_base = p, .iov_len = n};
}

static void add_gap(struct pieces *pieces, const struct single_part *part, uint64_t n)
{
	size_t piece;

	for (; n > 0; n -= piece) {
		piece = n < GAP_BUFFER ? (size_t)n : GAP_BUFFER;
		add_piece(pieces, part->gap, piece);
	}
}

static void add_sample(struct pieces *pieces, const struct sfs_chunk *c, uint32_t i)
{
	uint64_t at = c->singles[i].at, end = at + c->samples[i].n_bytes;
	unsigned char *p;
	size_t n;

	for (; at < end; at += n) {
		p = sfs_slice_buffer_at(c->buffer, at, &n);
		n = n < end - at ? n : (size_t)(end - at);
		add_piece(pieces, p, n);
	}
}

/* A buffer for the largest gap between samples that are not here yet; NULL: none. */
static void *new_gap(const struct sfs_chunk *c, const struct sfs_run *run)
{
	const struct sfs_block_sample *s = sfs_chunk_sample(c, run, run->n_here);
	uint64_t end = s->start + s->n_bytes, n = 0;
	uint32_t k;

	for (k = run->n_here + 1; k < run->n; k++) {
		s = sfs_chunk_sample(c, run, k);
		n = s->start - end > n ? s->start - end : n;
		end = s->start + s->n_bytes;
	}
	return n > 0 ? sfs_malloc((size_t)(n < GAP_BUFFER ? n : GAP_BUFFER)) : NULL;
}

static void request(struct singles *p, struct sfs_chunk *c, struct sfs_run *run,
		    bool is_urgent, struct sfs_deferred *out)
{
	struct single_part *part = sfs_calloc(1, sizeof *part);
	const struct sfs_block_sample *s = sfs_chunk_sample(c, run, run->n_here);
	uint64_t start = s->start, at = start;
	struct pieces pieces = {0};
	uint32_t k;

	sfs_part_begin(&p->base, &part->base);
	part->chunk = c;
	part->run = run;
	part->gap = new_gap(c, run);
	for (k = run->n_here; k < run->n; k++) {
		s = sfs_chunk_sample(c, run, k);
		add_gap(&pieces, part, s->start - at);
		add_sample(&pieces, c, c->by_place[run->first + k]);
		at = s->start + s->n_bytes;
	}
	part->base.iov = pieces.iov;
	part->base.request = (struct sfs_request){
		.object = p->base.runtime->shards.shards[s->shard].object,
		.is_urgent = is_urgent,
		.offset = start,
		.n_bytes = at - start,
		.n_iov = pieces.n,
		.gap = part->gap,
	};
	c->fetched_bytes += at - start;
	c->n_in_flight++;
	run->state = SFS_RUN_IN_FLIGHT;
	run->part = part;
	sfs_part_submit(&part->base, out);
}

/* All bytes of the run up to `end` have come. */
static void take_samples(struct singles *p, struct sfs_chunk *c, struct sfs_run *run,
			 uint64_t end)
{
	const struct sfs_block_sample *s;

	for (; run->n_here < run->n; run->n_here++) {
		s = sfs_chunk_sample(c, run, run->n_here);
		if (s->start + s->n_bytes > end)
			break;
		p->base.arrived_bytes += s->n_bytes;
	}
}

static void arrive(struct sfs_prefetch *base, struct sfs_part *ended,
		   struct sfs_prefetch_loss *ret_loss)
{
	struct singles *p = singles_of(base);
	struct single_part *part = sfs_container(ended, struct single_part, base);
	const struct sfs_request *r = &ended->request;
	uint64_t end = r->offset + (ended->err == 0 ? r->n_bytes : r->n_got);
	struct sfs_chunk *c = part->chunk;
	struct sfs_run *run = part->run;

	take_samples(p, c, run, end);
	run->state = run->n_here == run->n ? SFS_RUN_HERE : SFS_RUN_FAILED;
	run->part = NULL;
	c->n_in_flight--;
	*ret_loss = (struct sfs_prefetch_loss){0};
	if (run->state == SFS_RUN_FAILED) {
		c->n_failed++;
		p->has_failed = true;
		*ret_loss = (struct sfs_prefetch_loss){
			.err = ended->err,
			.shard = sfs_chunk_sample(c, run, 0)->shard,
			.start = end,
			.end = r->offset + r->n_bytes,
		};
	}
	sfs_part_end(ended);
	free(ended->iov);
	free(part->gap);
	free(part);
	drop_chunks(p);
}

/* The run of the next sample to take; NULL: it is here, or in no chunk. */
static struct sfs_run *awaited_run(const struct singles *p)
{
	const struct sfs_single *next;
	struct sfs_run *run;

	if (!p->current || p->current->singles[p->next].at == SFS_NOWHERE)
		return NULL;
	next = &p->current->singles[p->next];
	run = &p->current->runs[next->run];
	return next->nth - run->first < run->n_here ? NULL : run;
}

/* A run that is to be requested, the first one. */
static struct sfs_run *next_run(struct singles *p, struct sfs_chunk **ret_chunk)
{
	struct sfs_chunk *c;

	for (c = p->current; c; c = c->next) {
		while (c->next_run < c->n_runs &&
		       c->runs[c->next_run].state != SFS_RUN_WANTED)
			c->next_run++;
		if (c->next_run < c->n_runs) {
			*ret_chunk = c;
			return &c->runs[c->next_run];
		}
	}
	return NULL;
}

/* A reader waits: what failed is tried again. */
static void try_again(struct singles *p)
{
	struct sfs_chunk *c;
	uint32_t i;

	p->has_failed = false;
	for (c = p->current; c; c = c->next) {
		for (i = 0; c->n_failed > 0 && i < c->n_runs; i++) {
			if (c->runs[i].state != SFS_RUN_FAILED)
				continue;
			c->runs[i].state = SFS_RUN_WANTED;
			c->n_failed--;
			c->next_run = i < c->next_run ? i : c->next_run;
		}
	}
}

/* A reader waits for the next sample: have it in flight, whatever that takes.  true: it
 * is to be had without memory. */
static bool unblock(struct singles *p, struct sfs_deferred *out)
{
	struct single_part *part;
	struct sfs_run *run;

	if (!p->current && !add_chunk(p, true))
		return false;
	run = awaited_run(p);
	if (!run)
		return true;
	if (run->part) {
		part = run->part;
		sfs_request_hurry(&part->base.request);
		return false;
	}
	if (p->has_failed)
		try_again(p);
	request(p, p->current, run, true, out);
	return false;
}

static bool pump(struct sfs_prefetch *base, bool is_awaited, struct sfs_deferred *out)
{
	struct singles *p = singles_of(base);
	uint32_t most = max_in_flight(p);
	struct sfs_chunk *c;
	struct sfs_run *run;

	if (is_awaited && unblock(p, out))
		return true;
	while (base->n_in_flight < most && !p->has_failed) {
		run = next_run(p, &c);
		if (run)
			request(p, c, run, false, out);
		else if (has_enough(p) || !add_chunk(p, false))
			break; /* if the account refuses: it calls when there is room */
	}
	return false;
}

static bool needs(struct sfs_prefetch *base, const struct sfs_prefetch_loss *loss)
{
	struct singles *p = singles_of(base);
	const struct sfs_run *run = awaited_run(p);
	const struct sfs_block_sample *s;

	if (!run || run->state != SFS_RUN_FAILED)
		return false;
	s = &p->current->samples[p->next];
	return s->shard == loss->shard && s->start < loss->end &&
	       s->start + s->n_bytes > loss->start;
}

static bool has_all(const struct sfs_prefetch *base)
{
	struct singles *p = singles_of(base);
	const struct sfs_chunk *c;

	if (p->position < base->order->n_samples ||
	    next_run(p, &(struct sfs_chunk *){NULL}))
		return false;
	for (c = p->current; c; c = c->next)
		if (c->n_failed > 0)
			return false;
	return true;
}

static bool is_sated(struct sfs_prefetch *base)
{
	struct singles *p = singles_of(base);

	if (p->has_failed)
		return true;
	return !next_run(p, &(struct sfs_chunk *){NULL}) &&
	       (has_enough(p) || p->position == base->order->n_samples);
}

/* ---- what a read waits for ---- */

static const struct sfs_part *awaited_part(const struct sfs_prefetch *base)
{
	const struct sfs_run *run = awaited_run(singles_of(base));
	const struct single_part *part = run ? run->part : NULL;

	return part ? &part->base : NULL;
}

static enum sfs_wait wait_cause(const struct sfs_prefetch *base, uint64_t *ret_since_ns)
{
	const struct sfs_part *part = awaited_part(base);

	return part ? sfs_part_wait(part, part->request.object, ret_since_ns)
		    : SFS_WAIT_SOURCE;
}

static void singles_explain(const struct sfs_prefetch *base, struct sfs_cause *cause)
{
	const struct singles *p = singles_of(base);
	const struct sfs_part *part = awaited_part(base);
	const struct sfs_block_sample *s =
		p->current ? &p->current->samples[p->next] : NULL;

	if (part)
		sfs_object_explain(part->request.object, part->request.offset, "bytes",
				   cause);
	else if (sfs_prefetch_is_short(base))
		sfs_cause_set(cause, NULL, SFS_NO_OFFSET,
			      "memory for samples: budget= is used up");
	else if (awaited_run(p))
		sfs_object_explain(base->runtime->shards.shards[s->shard].object,
				   s->start, "bytes that were not requested yet", cause);
}

/* ---- samples ---- */

static int peek(struct sfs_prefetch *base, struct sfs_prefetch_next *ret_next)
{
	struct singles *p = singles_of(base);
	const struct sfs_single *next;

	if (!p->current)
		return p->position == base->order->n_samples ? -ENODATA : -EAGAIN;
	if (awaited_run(p))
		return -EAGAIN;
	next = &p->current->singles[p->next];
	ret_next->sample = &p->current->samples[p->next];
	ret_next->buffer = next->at == SFS_NOWHERE ? NULL : p->current->buffer;
	ret_next->start = next->at;
	return 0;
}

static void singles_take(struct sfs_prefetch *base)
{
	struct singles *p = singles_of(base);

	p->ahead_bytes -= p->current->samples[p->next].n_bytes;
	if (++p->next < p->current->n)
		return;
	learn_rate(p, p->current);
	p->current = p->current->next;
	p->next = 0;
	drop_chunks(p);
}

static void released(struct sfs_prefetch *base, struct sfs_slice_buffer *buffer)
{
	if (buffer->n_users == 0)
		drop_chunks(singles_of(base));
}

/* ---- life ---- */

static uint64_t live_bytes(const struct sfs_prefetch *base)
{
	const struct sfs_chunk *c;
	uint64_t n = 0;

	for (c = singles_of(base)->first; c; c = c->next)
		n += c->buffer ? sfs_slice_buffer_live_bytes(c->buffer) : 0;
	return n;
}

static void free_singles(struct sfs_prefetch *base)
{
	struct singles *p = singles_of(base);
	struct sfs_chunk *c;

	while ((c = p->first) != NULL) {
		p->first = c->next;
		sfs_chunk_free(c);
	}
	if (p->refused)
		sfs_chunk_free(p->refused);
	free(p);
}

struct sfs_prefetch *sfs_prefetch_singles_new(
	const struct sfs_prefetch_settings *settings, const struct sfs_spot *at)
{
	static const struct sfs_prefetch_ops ops = {
		.free = free_singles,
		.peek = peek,
		.take = singles_take,
		.released = released,
		.arrive = arrive,
		.needs = needs,
		.pump = pump,
		.has_all = has_all,
		.is_sated = is_sated,
		.wait_cause = wait_cause,
		.explain = singles_explain,
		.live_bytes = live_bytes,
	};
	struct singles *p = sfs_calloc(1, sizeof *p);
	struct sfs_netpath path = sfs_runtime_path(settings->runtime);
	const struct sfs_order *o = settings->order;

	sfs_prefetch_init(&p->base, &ops, settings);
	p->chunk_bytes = sfs_sizing_first_chunk(&path);
	if (at)
		p->position =
			at->is_end ? o->n_samples : at->time * o->n_lanes + at->lane;
	return &p->base;
}
