/* SPDX-License-Identifier: MIT */
/* How this works: the samples are sorted by the place where they lie in the shards, and
 * neighbours make a run, which is read by one request.  Where each of them belongs in the
 * slabs follows from the order of the stream. */
#include "stream/prefetch/chunk.h"

#include "base/alloc.h"
#include "order/lookup.h"
#include "tar/header.h"

#include <stdlib.h>

#define SAMPLES_MOST (16 << 10)		  /* of a chunk: to lay it out takes some ms */
#define RUN_SAMPLES  48			  /* of a run, at most */
#define GAP_FIRST    ((uint64_t)32 << 10) /* see worthwhile_gap() */
#define GAP_LEAST    ((uint64_t)8 << 10)
#define GAP_MOST     ((uint64_t)1 << 20)
#define GAP_SKIPPED  ((uint64_t)256 << 10) /* by a source that leaves gaps out */
#define REQUEST_NS   100000

uint64_t sfs_chunk_mean_sample(const struct sfs_prefetch *p)
{
	return p->order->n_bytes / p->order->n_samples + 1;
}

void sfs_chunk_free(struct sfs_chunk *c)
{
	sfs_slice_buffer_free(c->buffer);
	free(c->samples);
	free(c->singles);
	free(c->by_place);
	free(c->runs);
	free(c);
}

static int by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* It has all in by_place.  The numbers of samples rise with their places. */
struct sfs_chunk *sfs_chunk_new(const struct sfs_prefetch *p, uint64_t position,
				uint64_t n_bytes)
{
	const struct sfs_order *o = p->order;
	const struct sfs_sample_tables tables = sfs_shards_tables(&p->runtime->shards);
	uint64_t left = o->n_samples - position;
	uint64_t n = n_bytes / sfs_chunk_mean_sample(p) + 1, i, k;
	sfs_autofree uint32_t *numbers = NULL;
	sfs_autofree uint64_t *keys = NULL;
	struct sfs_chunk *c = sfs_calloc(1, sizeof *c);

	n = n < left ? n : left;
	n = n < SAMPLES_MOST ? n : SAMPLES_MOST;
	c->n = c->n_held = (uint32_t)n;
	c->samples = sfs_calloc(n, sizeof *c->samples);
	c->singles = sfs_calloc(n, sizeof *c->singles);
	c->by_place = sfs_calloc(n, sizeof *c->by_place);
	numbers = sfs_calloc(n, sizeof *numbers);
	keys = sfs_calloc(n, sizeof *keys);
	for (i = 0, k = position; i < n; i++, k++) {
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

void sfs_chunk_cut(struct sfs_chunk *c, uint64_t n_bytes)
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

void sfs_chunk_lay_out(struct sfs_chunk *c, uint64_t most)
{
	uint32_t i, k = 0;

	c->most = most;
	c->n_bytes = 0;
	for (i = 0; i < c->n; i++) {
		c->singles[i].at =
			c->samples[i].n_bytes <= most ? c->n_bytes : SFS_NOWHERE;
		if (c->singles[i].at != SFS_NOWHERE)
			c->n_bytes += sfs_tar_padded(c->samples[i].n_bytes);
	}
	for (i = 0; i < c->n_held; i++)
		if (c->singles[c->by_place[i]].at != SFS_NOWHERE)
			c->by_place[k++] = c->by_place[i];
	c->n_held = k;
}

void sfs_chunk_fill(struct sfs_chunk *c, const struct sfs_prefetch *p)
{
	size_t n = (size_t)sfs_slab_count(c->n_bytes);
	sfs_autofree void **slabs = sfs_calloc(n, sizeof *slabs);
	uint32_t i;

	sfs_slabs_get(p->runtime->slabs, slabs, n);
	c->buffer = sfs_slice_buffer_new(NULL, p->runtime->slabs, p->account, 0,
					 c->n_bytes);
	sfs_slice_buffer_expect(c->buffer, 0, c->n_bytes);
	for (i = 0; i < c->n; i++)
		if (c->singles[i].at != SFS_NOWHERE)
			sfs_slice_buffer_hold(c->buffer, c->singles[i].at,
					      c->samples[i].n_bytes);
	sfs_slice_buffer_arrive(c->buffer, 0, slabs, n);
	sfs_slice_buffer_assign(c->buffer, UINT64_MAX);
}

/* How many bytes may lie between two samples that are read together?  As many as come in
 * the time that one more request takes, of a processor and of the path; more if the source
 * leaves them out. */
static uint64_t worthwhile_gap(const struct sfs_object *object,
			       const struct sfs_netpath *path, uint64_t rate)
{
	uint64_t ns =
		REQUEST_NS + sfs_netpath_latency_ns(path) / (uint64_t)path->n_parallel;
	uint64_t n = rate / 1000000 * ns / 1000;

	if (object->source->ops->skips_gaps)
		return GAP_SKIPPED;
	if (rate == 0)
		return GAP_FIRST;
	return n < GAP_LEAST ? GAP_LEAST : n < GAP_MOST ? n : GAP_MOST;
}

/* Should the two samples be read together?  (Not if they are the same, which is there
 * twice with equal=pad.) */
static bool are_neighbours(const struct sfs_block_sample *a,
			   const struct sfs_block_sample *b, uint64_t gap)
{
	uint64_t end = a->start + a->n_bytes;

	return a->shard == b->shard && b->start >= end && b->start - end <= gap;
}

void sfs_chunk_make_runs(struct sfs_chunk *c, const struct sfs_prefetch *p, uint64_t rate)
{
	const struct sfs_runtime *runtime = p->runtime;
	const struct sfs_block_sample *before = NULL, *s;
	uint64_t gap = 0, most = 0, start = 0;
	const struct sfs_object *object;
	struct sfs_netpath path;
	struct sfs_run *run = NULL;
	uint32_t i;

	c->runs = sfs_calloc(c->n_held + 1, sizeof *c->runs);
	for (i = 0; i < c->n_held; i++) {
		s = &c->samples[c->by_place[i]];
		if (!before || before->shard != s->shard) {
			object = runtime->shards.shards[s->shard].object;
			path = sfs_object_netpath(object);
			gap = worthwhile_gap(object, &path, rate);
			most = sfs_prefetch_part_over(p, &path);
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
}

const struct sfs_block_sample *sfs_chunk_sample(const struct sfs_chunk *c,
						const struct sfs_run *run, uint32_t k)
{
	return &c->samples[c->by_place[run->first + k]];
}
