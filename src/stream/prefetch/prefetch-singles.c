/* SPDX-License-Identifier: MIT */
/* How this works: the stream is prefetched in chunks, each some megabytes of it.  A chunk
 * is laid out in slabs as it will be read, one sample after the other.  Its samples are
 * sorted by the place where they lie in the shards, and neighbours are read by one
 * request, a run, whose pieces of memory are where each of them belongs; the bytes in
 * between go where nobody looks.  The larger a chunk, the more neighbours it has.
 *
 * The runs of a chunk are requested in the order of their places.  The next chunk is
 * begun while one is read, so that order matters only to the first ones, which are small.
 *
 * Progress is certain whatever the budget.  When the account refuses memory for the very
 * next sample, that is handed on without a buffer, and so is a sample that is larger than
 * a chunk: the cursor fetches those in pieces, from the range reader's own account. */
#include "base/alloc.h"
#include "base/ledger.h"
#include "order/lookup.h"
#include "stream/prefetch/prefetch-internal.h"
#include "stream/prefetch/sizing.h"
#include "tar/header.h"

#include <errno.h>
#include <string.h>

#define SAMPLES_MOST (16 << 10)		  /* of a chunk: to lay it out takes some ms */
#define RUN_SAMPLES  48			  /* of a run, at most */
#define GAP_FIRST    ((uint64_t)32 << 10) /* see worthwhile_gap() */
#define GAP_LEAST    ((uint64_t)8 << 10)
#define GAP_MOST     ((uint64_t)1 << 20)
#define GAP_BUFFER   ((uint64_t)64 << 10)
#define LARGE_SAMPLE ((uint64_t)4 << 20) /* is fetched in pieces */
#define REQUEST_NS   100000
#define LARGE_RUN    ((uint64_t)16 << 10)
#define QUEUED_BYTES ((uint64_t)1 << 20) /* of small runs: see max_in_flight() */
#define QUEUED_MOST  128

#define NOWHERE UINT64_MAX

struct single {
	uint64_t at;  /* its first byte in the chunk; or NOWHERE */
	uint32_t nth; /* which one it is in by_place; */
	uint32_t run; /* and its run */
};

enum run_state { RUN_WANTED, RUN_IN_FLIGHT, RUN_HERE, RUN_FAILED };

/* Neighbours: `n` samples from chunk->by_place[first] on. */
struct run {
	uint32_t first, n;
	uint32_t n_here; /* the first of them that are here */
	enum run_state state;
	struct single_part *part; /* that is in flight, or NULL */
};

struct chunk {
	struct chunk *next;
	struct sfs_slice_buffer *buffer; /* NULL: it holds none of its samples */
	uint64_t n_bytes;		 /* of the buffer */
	uint32_t n;
	struct sfs_block_sample *samples; /* in the order of the stream */
	struct single *singles;		  /* the same */
	uint32_t *by_place;		  /* the n_held of them that it holds */
	uint32_t n_held;
	struct run *runs;
	uint32_t n_runs, next_run; /* no run before that is WANTED */
	uint32_t n_failed, n_in_flight;
	uint64_t target, most;	/* about how large it is; and its largest sample */
	uint64_t fetched_bytes; /* of all runs, with what lies between */
};

struct singles {
	struct sfs_prefetch base;
	uint64_t position; /* in the part of the epoch, of the next sample in no chunk */
	struct chunk *first, *last;
	struct chunk *refused; /* the next one, if the account refused it; or NULL */
	bool has_failed;       /* a run has; only a waiting reader goes on */
	struct chunk *current; /* has the next sample to take; NULL: none has */
	uint32_t next;	       /* which one that is */
	uint64_t chunk_bytes;  /* of the next one */
	uint64_t ahead_bytes;  /* in chunks, from `current` on, less what was taken */
	uint64_t n_runs, run_bytes; /* of all chunks, for the mean size */
	uint64_t rate;		    /* of the path; 0: not known */
};

struct single_part {
	struct sfs_part base;
	struct chunk *chunk;
	struct run *run;
	void *gap; /* where the bytes between samples go; or NULL */
};

static struct singles *singles_of(const struct sfs_prefetch *base)
{
	return sfs_container(base, struct singles, base);
}

/* ---- sizes ---- */

static uint64_t mean_bytes(const struct singles *p)
{
	return p->base.order->n_bytes / p->base.order->n_samples + 1;
}

static uint64_t chunk_most(const struct singles *p)
{
	return sfs_sizing_chunk(sfs_account_share(p->base.account));
}

static uint64_t mean_run(const struct singles *p)
{
	return p->n_runs ? p->run_bytes / p->n_runs + 1 : mean_bytes(p);
}

/* The rate of the path, as far as large runs have shown it: of small ones, it is only
 * that of the requests. */
static void learn_rate(struct singles *p, const struct chunk *c)
{
	struct sfs_netpath path = sfs_prefetch_slowest_path(p->base.runtime);

	if (c->fetched_bytes > 0 && c->fetched_bytes >= LARGE_RUN * c->n_runs &&
	    path.bytes_per_s > p->rate)
		p->rate = path.bytes_per_s;
}

/* How many bytes between two samples are worth fetching: as many as come in the time that
 * one more request takes, of a processor and of the path. */
static uint64_t worthwhile_gap(const struct singles *p, const struct sfs_netpath *path)
{
	uint64_t ns =
		REQUEST_NS + sfs_netpath_latency_ns(path) / (uint64_t)path->n_parallel;
	uint64_t n = p->rate / 1000000 * ns / 1000;

	if (p->rate == 0)
		return GAP_FIRST;
	return n < GAP_LEAST ? GAP_LEAST : n < GAP_MOST ? n : GAP_MOST;
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

static void free_chunk(struct chunk *c)
{
	sfs_slice_buffer_free(c->buffer);
	free(c->samples);
	free(c->singles);
	free(c->by_place);
	free(c->runs);
	free(c);
}

/* Free the first chunks that were taken and released. */
static void drop_chunks(struct singles *p)
{
	struct chunk *c;

	while ((c = p->first) != NULL && c != p->current && c->n_in_flight == 0 &&
	       (!c->buffer || c->buffer->n_users == 0)) {
		p->first = c->next;
		if (!p->first)
			p->last = NULL;
		free_chunk(c);
	}
}

static int by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Look up the next samples, about n_bytes of them; sets by_place, of all.  The numbers of
 * samples rise with their places. */
static struct chunk *look_up(const struct singles *p, uint64_t n_bytes)
{
	const struct sfs_order *o = p->base.order;
	const struct sfs_sample_tables tables =
		sfs_shards_tables(&p->base.runtime->shards);
	uint64_t left = o->n_samples - p->position, n = n_bytes / mean_bytes(p) + 1, i, k;
	sfs_autofree uint32_t *numbers = NULL;
	sfs_autofree uint64_t *keys = NULL;
	struct chunk *c = sfs_calloc(1, sizeof *c);

	n = n < left ? n : left;
	n = n < SAMPLES_MOST ? n : SAMPLES_MOST;
	c->n = c->n_held = (uint32_t)n;
	c->samples = sfs_calloc(n, sizeof *c->samples);
	c->singles = sfs_calloc(n, sizeof *c->singles);
	c->by_place = sfs_calloc(n, sizeof *c->by_place);
	numbers = sfs_calloc(n, sizeof *numbers);
	keys = sfs_calloc(n, sizeof *keys);
	for (i = 0, k = p->position; i < n; i++, k++) {
		numbers[i] = sfs_order_number(o, (uint32_t)(k % o->n_lanes),
					      (uint32_t)(k / o->n_lanes));
		keys[i] = (uint64_t)numbers[i] << 32 | i;
	}
	sfs_lookup(&o->numbering, &tables, numbers, n, c->samples);
	qsort(keys, n, sizeof *keys, by_number);
	for (i = 0; i < n; i++)
		c->by_place[i] = (uint32_t)keys[i];
	return c;
}

/* Keep the first samples only, about n_bytes of them and at least one. */
static void cut(struct chunk *c, uint64_t n_bytes)
{
	uint64_t sum = 0;
	uint32_t n = 0, i, k;

	while (n < c->n && (n == 0 || sum + c->samples[n].n_bytes <= n_bytes))
		sum += c->samples[n++].n_bytes;
	for (i = k = 0; i < c->n_held; i++)
		if (c->by_place[i] < n)
			c->by_place[k++] = c->by_place[i];
	c->n_held = k;
	c->n = n;
	c->target = n_bytes;
}

/* Where its samples lie in the chunk, one after the other.  Those larger than `most` do
 * not, and are not in by_place any more. */
static void lay_out(struct chunk *c, uint64_t most)
{
	uint32_t i, k = 0;

	c->most = most;
	c->n_bytes = 0;
	for (i = 0; i < c->n; i++) {
		c->singles[i].at = c->samples[i].n_bytes <= most ? c->n_bytes : NOWHERE;
		if (c->singles[i].at != NOWHERE)
			c->n_bytes += sfs_tar_padded(c->samples[i].n_bytes);
	}
	for (i = 0; i < c->n_held; i++)
		if (c->singles[c->by_place[i]].at != NOWHERE)
			c->by_place[k++] = c->by_place[i];
	c->n_held = k;
}

static bool has_memory(struct singles *p, const struct chunk *c)
{
	uint64_t n = sfs_slab_count(c->n_bytes) * SFS_SLAB_BYTES;

	p->base.is_refused = n > 0 && sfs_account_take(p->base.account, n) < 0;
	return !p->base.is_refused;
}

/* Give the chunk its slabs, for which the account was charged. */
static void fill_buffer(struct singles *p, struct chunk *c)
{
	size_t n = (size_t)sfs_slab_count(c->n_bytes);
	sfs_autofree void **slabs = sfs_calloc(n, sizeof *slabs);
	uint32_t i;

	sfs_slabs_get(p->base.runtime->slabs, slabs, n);
	c->buffer = sfs_slice_buffer_new(NULL, p->base.runtime->slabs, p->base.account, 0,
					 c->n_bytes);
	sfs_slice_buffer_expect(c->buffer, 0, c->n_bytes);
	for (i = 0; i < c->n; i++)
		if (c->singles[i].at != NOWHERE)
			sfs_slice_buffer_hold(c->buffer, c->singles[i].at,
					      c->samples[i].n_bytes);
	sfs_slice_buffer_arrive(c->buffer, 0, slabs, n);
	sfs_slice_buffer_assign(c->buffer, UINT64_MAX);
}

/* Should the two samples be read together?  (Not if they are the same, which is there
 * twice with equal=pad.) */
static bool are_neighbours(const struct sfs_block_sample *a,
			   const struct sfs_block_sample *b, uint64_t gap)
{
	uint64_t end = a->start + a->n_bytes;

	return a->shard == b->shard && b->start >= end && b->start - end <= gap;
}

/* Make runs of neighbours. */
static void make_runs(struct singles *p, struct chunk *c)
{
	const struct sfs_runtime *runtime = p->base.runtime;
	const struct sfs_block_sample *before = NULL, *s;
	uint64_t gap = 0, most = 0, start = 0;
	struct sfs_netpath path;
	struct run *run = NULL;
	uint32_t i;

	c->runs = sfs_calloc(c->n_held + 1, sizeof *c->runs);
	for (i = 0; i < c->n_held; i++) {
		s = &c->samples[c->by_place[i]];
		if (!before || before->shard != s->shard) {
			path = sfs_object_netpath(
				&runtime->shards.shards[s->shard].object);
			gap = worthwhile_gap(p, &path);
			most = sfs_prefetch_part_over(runtime, &path);
		}
		if (!before || run->n == RUN_SAMPLES || !are_neighbours(before, s, gap) ||
		    s->start + s->n_bytes - start > most) {
			run = &c->runs[c->n_runs++];
			run->first = i;
			start = s->start;
		}
		run->n++;
		c->singles[c->by_place[i]].nth = i;
		c->singles[c->by_place[i]].run = c->n_runs - 1;
		before = s;
	}
	p->n_runs += c->n_runs;
	p->run_bytes += c->n_bytes;
}

static void append(struct singles *p, struct chunk *c)
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
static struct chunk *next_chunk(struct singles *p)
{
	uint64_t most = chunk_most(p), n = p->chunk_bytes < most ? p->chunk_bytes : most;
	struct chunk *c = p->refused;

	p->refused = NULL;
	if (c)
		return c;
	c = look_up(p, n);
	cut(c, n);
	lay_out(c, most < LARGE_SAMPLE ? most : LARGE_SAMPLE);
	return c;
}

/* Add a chunk; a smaller one if the account refuses, but not while there are others.
 * `must`: the next sample at least, if need be without memory.  false: none was added. */
static bool add_chunk(struct singles *p, bool must)
{
	uint64_t most = chunk_most(p);
	struct chunk *c;

	if (p->position == p->base.order->n_samples)
		return false;
	c = next_chunk(p);
	while (!has_memory(p, c)) {
		if (c->n == 1 && must) {
			lay_out(c, 0);
			break;
		}
		if (c->n == 1 || p->current) {
			p->refused = c;
			return false;
		}
		cut(c, c->target / 2);
		lay_out(c, c->most);
	}
	if (c->n_bytes > 0)
		fill_buffer(p, c);
	make_runs(p, c);
	append(p, c);
	p->chunk_bytes = 2 * c->target < most ? 2 * c->target : most;
	return true;
}

/* ---- requests ---- */

/* The memory for the samples of a run that are not here yet, and for what lies between.
 */
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

static void add_sample(struct pieces *pieces, const struct chunk *c, uint32_t i)
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

/* The k-th sample of a run. */
static const struct sfs_block_sample *sample_of(const struct chunk *c,
						const struct run *run, uint32_t k)
{
	return &c->samples[c->by_place[run->first + k]];
}

/* A buffer for the largest gap between samples that are not here yet; NULL: none. */
static void *new_gap(const struct chunk *c, const struct run *run)
{
	const struct sfs_block_sample *s = sample_of(c, run, run->n_here);
	uint64_t end = s->start + s->n_bytes, n = 0;
	uint32_t k;

	for (k = run->n_here + 1; k < run->n; k++) {
		s = sample_of(c, run, k);
		n = s->start - end > n ? s->start - end : n;
		end = s->start + s->n_bytes;
	}
	return n > 0 ? sfs_malloc((size_t)(n < GAP_BUFFER ? n : GAP_BUFFER)) : NULL;
}

static void request(struct singles *p, struct chunk *c, struct run *run, bool is_urgent,
		    struct sfs_deferred *out)
{
	struct single_part *part = sfs_calloc(1, sizeof *part);
	const struct sfs_block_sample *s = sample_of(c, run, run->n_here);
	uint64_t start = s->start, at = start;
	struct pieces pieces = {0};
	uint32_t k;

	sfs_part_begin(&p->base, &part->base);
	part->chunk = c;
	part->run = run;
	part->gap = new_gap(c, run);
	for (k = run->n_here; k < run->n; k++) {
		s = sample_of(c, run, k);
		add_gap(&pieces, part, s->start - at);
		add_sample(&pieces, c, c->by_place[run->first + k]);
		at = s->start + s->n_bytes;
	}
	part->base.iov = pieces.iov;
	part->base.request = (struct sfs_request){
		.object = &p->base.runtime->shards.shards[s->shard].object,
		.is_urgent = is_urgent,
		.offset = start,
		.n_bytes = at - start,
		.n_iov = pieces.n,
	};
	c->fetched_bytes += at - start;
	c->n_in_flight++;
	run->state = RUN_IN_FLIGHT;
	run->part = part;
	sfs_part_submit(&part->base, out);
}

/* All bytes of the run up to `end` have come. */
static void take_samples(struct singles *p, struct chunk *c, struct run *run,
			 uint64_t end)
{
	const struct sfs_block_sample *s;

	for (; run->n_here < run->n; run->n_here++) {
		s = sample_of(c, run, run->n_here);
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
	struct chunk *c = part->chunk;
	struct run *run = part->run;

	take_samples(p, c, run, end);
	run->state = run->n_here == run->n ? RUN_HERE : RUN_FAILED;
	run->part = NULL;
	c->n_in_flight--;
	*ret_loss = (struct sfs_prefetch_loss){0};
	if (run->state == RUN_FAILED) {
		c->n_failed++;
		p->has_failed = true;
		*ret_loss = (struct sfs_prefetch_loss){
			.err = ended->err,
			.shard = sample_of(c, run, 0)->shard,
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
static struct run *awaited_run(const struct singles *p)
{
	const struct single *next;
	struct run *run;

	if (!p->current || p->current->singles[p->next].at == NOWHERE)
		return NULL;
	next = &p->current->singles[p->next];
	run = &p->current->runs[next->run];
	return next->nth - run->first < run->n_here ? NULL : run;
}

/* A run that is to be requested, the first one. */
static struct run *next_run(struct singles *p, struct chunk **ret_chunk)
{
	struct chunk *c;

	for (c = p->current; c; c = c->next) {
		while (c->next_run < c->n_runs &&
		       c->runs[c->next_run].state != RUN_WANTED)
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
	struct chunk *c;
	uint32_t i;

	p->has_failed = false;
	for (c = p->current; c; c = c->next) {
		for (i = 0; c->n_failed > 0 && i < c->n_runs; i++) {
			if (c->runs[i].state != RUN_FAILED)
				continue;
			c->runs[i].state = RUN_WANTED;
			c->n_failed--;
			c->next_run = i < c->next_run ? i : c->next_run;
		}
	}
}

/* A reader waits for the next sample: have it in flight, whatever that takes.  true: it
 * is to be had without memory. */
static bool unblock(struct singles *p, struct sfs_deferred *out)
{
	struct run *run;

	if (!p->current && !add_chunk(p, true))
		return false;
	run = awaited_run(p);
	if (!run)
		return true;
	if (run->part) {
		sfs_request_hurry(&run->part->base.request);
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
	struct chunk *c;
	struct run *run;

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
	const struct run *run = awaited_run(p);
	const struct sfs_block_sample *s;

	if (!run || run->state != RUN_FAILED)
		return false;
	s = &p->current->samples[p->next];
	return s->shard == loss->shard && s->start < loss->end &&
	       s->start + s->n_bytes > loss->start;
}

static bool has_all(const struct sfs_prefetch *base)
{
	struct singles *p = singles_of(base);
	const struct chunk *c;

	if (p->position < base->order->n_samples || next_run(p, &(struct chunk *){NULL}))
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
	return !next_run(p, &(struct chunk *){NULL}) &&
	       (has_enough(p) || p->position == base->order->n_samples);
}

/* ---- what a read waits for ---- */

static const struct sfs_part *awaited_part(const struct sfs_prefetch *base)
{
	const struct run *run = awaited_run(singles_of(base));

	return run && run->part ? &run->part->base : NULL;
}

static enum sfs_wait wait_cause(const struct sfs_prefetch *base, uint64_t *ret_since_ns)
{
	const struct sfs_part *part = awaited_part(base);

	return part ? sfs_part_wait(part, part->request.object, ret_since_ns)
		    : SFS_WAIT_SOURCE;
}

static void explain(const struct sfs_prefetch *base, struct sfs_cause *cause)
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
		sfs_object_explain(&base->runtime->shards.shards[s->shard].object,
				   s->start, "bytes that were not requested yet", cause);
}

/* ---- samples ---- */

static int peek(struct sfs_prefetch *base, struct sfs_prefetch_next *ret_next)
{
	struct singles *p = singles_of(base);
	const struct single *next;

	if (!p->current)
		return p->position == base->order->n_samples ? -ENODATA : -EAGAIN;
	if (awaited_run(p))
		return -EAGAIN;
	next = &p->current->singles[p->next];
	ret_next->sample = &p->current->samples[p->next];
	ret_next->buffer = next->at == NOWHERE ? NULL : p->current->buffer;
	ret_next->start = next->at;
	return 0;
}

static void take(struct sfs_prefetch *base)
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
	const struct chunk *c;
	uint64_t n = 0;

	for (c = singles_of(base)->first; c; c = c->next)
		n += c->buffer ? sfs_slice_buffer_live_bytes(c->buffer) : 0;
	return n;
}

static void free_singles(struct sfs_prefetch *base)
{
	struct singles *p = singles_of(base);
	struct chunk *c;

	while ((c = p->first) != NULL) {
		p->first = c->next;
		free_chunk(c);
	}
	if (p->refused)
		free_chunk(p->refused);
	free(p);
}

struct sfs_prefetch *sfs_prefetch_singles_new(
	const struct sfs_prefetch_settings *settings, const struct sfs_spot *at)
{
	static const struct sfs_prefetch_ops ops = {
		.free = free_singles,
		.peek = peek,
		.take = take,
		.released = released,
		.arrive = arrive,
		.needs = needs,
		.pump = pump,
		.has_all = has_all,
		.is_sated = is_sated,
		.wait_cause = wait_cause,
		.explain = explain,
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
