/* SPDX-License-Identifier: MIT */
#include "order/cuts.h"

#include "base/alloc.h"
#include "tar/header.h"

#include <string.h>

#define N_STEPS	 (SFS_CUTS_MAX - 1)
#define STEP_MIN ((uint64_t)64 << 10)
#define PURPOSE	 7 /* the last word of the generators' names */

static uint64_t total_of(const uint64_t *sizes, uint32_t n_shards)
{
	uint64_t total = 0;
	uint32_t i;

	for (i = 0; i < n_shards; i++)
		total += sfs_tar_padded(sizes[i]);
	return total;
}

/* One cut lies in each step of all bytes. */
static uint64_t step_of(uint64_t total)
{
	uint64_t step = (total + N_STEPS - 1) / N_STEPS;

	return sfs_tar_padded(step < STEP_MIN ? STEP_MIN : step);
}

uint32_t sfs_cuts_count(const uint64_t *sizes, uint32_t n_shards)
{
	uint64_t total = total_of(sizes, n_shards);

	return (uint32_t)(total / step_of(total)) + 1;
}

/* The last one may lie beyond the last byte. */
static uint64_t draw(struct sfs_rng epoch, uint32_t cut, uint64_t step)
{
	sfs_rng_name(&epoch, cut);
	sfs_rng_name(&epoch, 0);
	sfs_rng_name(&epoch, PURPOSE);
	return cut * step + SFS_TAR_BLOCK * sfs_rng_below(&epoch, step / SFS_TAR_BLOCK);
}

static void init(struct sfs_cuts *cuts, uint32_t n_segments, size_t n_stretches)
{
	cuts->n_segments = n_segments;
	cuts->starts = sfs_calloc((size_t)n_segments + 1, sizeof *cuts->starts);
	cuts->stretches = sfs_calloc(n_stretches, sizeof *cuts->stretches);
}

/* Where somebody is who walks along all bytes. */
struct walk {
	const uint64_t *sizes;
	uint32_t shard;
	uint64_t shard_at; /* where that shard begins */
	uint64_t at;
};

/* Walk on to a byte; what lies between goes into the array at *n. */
static void walk_to(struct walk *w, uint64_t to, struct sfs_stretch *stretches, size_t *n)
{
	uint64_t shard_end, end;

	while (w->at < to) {
		shard_end = w->shard_at + sfs_tar_padded(w->sizes[w->shard]);
		end = to < shard_end ? to : shard_end;
		if (end > w->at)
			stretches[(*n)++] = (struct sfs_stretch){
				w->shard, w->at - w->shard_at, end - w->shard_at};
		w->at = end;
		if (end == shard_end) {
			w->shard++;
			w->shard_at = shard_end;
		}
	}
}

void sfs_cuts_make(struct sfs_cuts *cuts, struct sfs_rng epoch, const uint64_t *sizes,
		   uint32_t n_shards)
{
	const uint64_t total = total_of(sizes, n_shards), step = step_of(total);
	const uint32_t n_cuts = sfs_cuts_count(sizes, n_shards);
	sfs_autofree struct sfs_stretch *before =
		sfs_calloc((size_t)n_shards + 1, sizeof *before);
	struct walk walk = {.sizes = sizes};
	size_t n = 0, n_before = 0;
	uint64_t at;
	uint32_t k;

	init(cuts, n_cuts, (size_t)n_cuts + n_shards + 1);
	for (k = 0; k < n_cuts; k++) {
		at = draw(epoch, k, step);
		at = at < total ? at : total;
		if (k == 0)
			walk_to(&walk, at, before, &n_before);
		else
			walk_to(&walk, at, cuts->stretches, &n);
		cuts->starts[k] = n;
	}
	walk_to(&walk, total, cuts->stretches, &n);
	if (n_before > 0) /* the last segment goes on at the beginning of the ring */
		memcpy(cuts->stretches + n, before, n_before * sizeof *before);
	cuts->starts[n_cuts] = n + n_before;
}

void sfs_cuts_make_whole(struct sfs_cuts *cuts, const uint64_t *sizes, uint32_t n_shards)
{
	uint32_t i;

	init(cuts, n_shards, n_shards);
	for (i = 0; i < n_shards; i++) {
		cuts->stretches[i] =
			(struct sfs_stretch){.shard = i, .end = sfs_tar_padded(sizes[i])};
		cuts->starts[i + 1] = i + 1;
	}
}

void sfs_cuts_done(struct sfs_cuts *cuts)
{
	free(cuts->starts);
	free(cuts->stretches);
	*cuts = (struct sfs_cuts){0};
}
