/* SPDX-License-Identifier: MIT */
/* How this works: a job is some runs of small extents, each with a slab of its own.  The
 * bytes are copied without the lock.  Then the first extent of a run becomes all of it,
 * the others become empty, and what held them is released.
 *
 * Until then reads are answered from what held them.  So a run of which a byte was
 * answered meanwhile stays as it was: the answer may still be in use. */
#include "stream/cursor/cursor-internal.h"

#include <string.h>

#define WINDOW_BYTES ((uint64_t)2 << 20) /* so far ahead of the front, at most */
#define SMALL_BYTES \
	((uint64_t)16 << 10) /* in the mean; where a piece costs more than its bytes */
#define SPARE_PART  4	     /* 1/SPARE_PART of the share stays free */
#define CACHE_LINE  64
#define TOUCH_LINES 4 /* the processor goes on by itself */

/* The first byte that is in no run and no answer. */
static uint64_t from_of(const struct sfs_cursor *c)
{
	return c->flat.end > c->front ? c->flat.end : c->front;
}

bool sfs_cursor_should_flatten(const struct sfs_cursor *c)
{
	uint64_t from = from_of(c), n = c->extents.tail - c->extents.head;

	return !sfs_order_is_single(c->order) && from < c->front + WINDOW_BYTES / 2 &&
	       from + SFS_SLAB_BYTES < c->extents.end &&
	       c->extents.end - c->extents.start < n * SMALL_BYTES;
}

/* The first extent that begins there or later. */
static uint64_t first_extent(const struct sfs_cursor *c)
{
	uint64_t from = from_of(c), i = sfs_extent_map_find(&c->extents, from);

	return sfs_extent_map_at(&c->extents, i)->offset < from ? i + 1 : i;
}

static bool add_extent(struct sfs_flat_run *run, const struct sfs_mapped_extent *e)
{
	uint64_t at = e->start, end = e->start + e->n_bytes;
	unsigned char *p;
	size_t n;

	if (!e->buffer || e->err < 0 || run->n_bytes + e->n_bytes > SFS_SLAB_BYTES ||
	    run->n_pieces + 2 > SFS_FLAT_PIECES)
		return false;
	for (; at < end; at += n) {
		p = sfs_slice_buffer_at(e->buffer, at, &n);
		n = n < end - at ? n : (size_t)(end - at);
		run->pieces[run->n_pieces++] = (struct iovec){p, n};
	}
	run->n_bytes += e->n_bytes;
	run->n_extents++;
	return true;
}

/* As many extents from number `first` on as one slab holds.  false: more of them may
 * come. */
static bool fill_run(const struct sfs_cursor *c, struct sfs_flat_run *run, uint64_t first)
{
	uint64_t i;

	run->first = first;
	run->n_bytes = 0;
	run->n_extents = run->n_pieces = 0;
	for (i = first; i < c->extents.tail; i++)
		if (!add_extent(run, sfs_extent_map_at(&c->extents, i)))
			return true;
	return false;
}

/* Of large samples pieces are as good; and much of a slab must not be empty. */
static bool is_worth_it(const struct sfs_flat_run *run)
{
	return run->n_bytes < run->n_extents * SMALL_BYTES &&
	       run->n_bytes >= SFS_SLAB_BYTES / 2;
}

/* Some of the share is left to the prefetch, which may need it to go on at all. */
static bool get_slab(struct sfs_cursor *c, struct sfs_flat_run *run)
{
	uint64_t share = sfs_account_share(&c->account);

	if (sfs_account_used(&c->account) + SFS_SLAB_BYTES > share - share / SPARE_PART ||
	    sfs_account_take(&c->account, SFS_SLAB_BYTES) < 0)
		return false;
	sfs_slabs_get(c->runtime->slabs, &run->slab, 1);
	return true;
}

static void put_slab(struct sfs_cursor *c, void *slab)
{
	sfs_slabs_put(c->runtime->slabs, &slab, 1);
	sfs_account_give(&c->account, SFS_SLAB_BYTES);
}

bool sfs_cursor_flatten_begin(struct sfs_cursor *c)
{
	struct sfs_flat *flat = &c->flat;
	struct sfs_flat_run *run;
	uint64_t i;

	if (c->is_closed || !c->prefetch || !sfs_cursor_should_flatten(c))
		return false;
	i = first_extent(c);
	while (flat->n_runs < SFS_FLAT_RUNS && i < c->extents.tail &&
	       sfs_extent_map_at(&c->extents, i)->offset < c->front + WINDOW_BYTES) {
		run = &flat->runs[flat->n_runs];
		if (!fill_run(c, run, i))
			break;
		i += run->n_extents > 0 ? run->n_extents : 1;
		if (!is_worth_it(run))
			continue;
		if (!get_slab(c, run))
			break;
		flat->n_runs++;
	}
	return flat->n_runs > 0;
}

/* Samples of a few KB lie all over the memory: without this, the processor waits for the
 * beginning of each. */
static void touch(const unsigned char *p)
{
	int i;

	for (i = 0; i < TOUCH_LINES; i++)
		__builtin_prefetch(p + i * CACHE_LINE);
}

static void copy_run(const struct sfs_flat_run *run)
{
	unsigned char *to = run->slab;
	uint32_t i;

	for (i = 0; i < run->n_pieces; i++) {
		if (i + 1 < run->n_pieces)
			touch(run->pieces[i + 1].iov_base);
		memcpy(to, run->pieces[i].iov_base, run->pieces[i].iov_len);
		to += run->pieces[i].iov_len;
	}
}

void sfs_cursor_flatten_copy(const struct sfs_cursor *c)
{
	uint32_t i;

	for (i = 0; i < c->flat.n_runs; i++)
		copy_run(&c->flat.runs[i]);
}

static void end_run(struct sfs_cursor *c, const struct sfs_flat_run *run)
{
	struct sfs_mapped_extent *first = sfs_extent_map_at(&c->extents, run->first), *e;
	uint64_t i;

	if (first->offset < c->front) {
		put_slab(c, run->slab);
		return;
	}
	c->flat.end = first->offset + run->n_bytes;
	c->flat.n_bytes += run->n_bytes;
	for (i = run->first; i < run->first + run->n_extents; i++) {
		e = sfs_extent_map_at(&c->extents, i);
		sfs_prefetch_release(c->prefetch, e->buffer, e->start, e->n_bytes);
		e->buffer = NULL;
		e->offset = c->flat.end;
		e->n_bytes = 0;
	}
	first->offset = c->flat.end - run->n_bytes;
	first->n_bytes = run->n_bytes;
	first->flat = run->slab;
}

void sfs_cursor_flatten_end(struct sfs_cursor *c)
{
	uint32_t i;

	for (i = 0; i < c->flat.n_runs; i++)
		end_run(c, &c->flat.runs[i]);
	c->flat.n_runs = 0;
}

void sfs_cursor_drop_flat(struct sfs_cursor *c, const struct sfs_mapped_extent *e)
{
	c->flat.n_bytes -= e->n_bytes;
	put_slab(c, e->flat);
}
