/* SPDX-License-Identifier: MIT */
#include "order/quality.h"

#include "base/alloc.h"

#define N_PARTS 10

void sfs_quality_begin(struct sfs_quality_run *run, uint32_t batch, uint32_t n_shards,
		       const uint64_t *n_samples)
{
	double n = 0, pairs = 0;
	uint32_t i;

	*run = (struct sfs_quality_run){.batch = batch, .n_shards = n_shards};
	run->counts = sfs_calloc(n_shards, sizeof *run->counts);
	run->seen = sfs_calloc(batch, sizeof *run->seen);
	for (i = 0; i < n_shards; i++) {
		n += (double)n_samples[i];
		pairs += (double)n_samples[i] * ((double)n_samples[i] - 1);
	}
	run->chance = n > 1 ? pairs / (n * (n - 1)) : 0;
}

static void end_batch(struct sfs_quality_run *run)
{
	double pairs = 0, b = run->batch;
	uint32_t i, n;

	for (i = 0; i < run->n_seen; i++) {
		n = run->counts[run->seen[i]];
		pairs += (double)n * (n - 1);
		run->counts[run->seen[i]] = 0;
	}
	if (run->n_batches == run->capacity) {
		run->capacity = run->capacity ? 2 * run->capacity : 64;
		run->batches = sfs_reallocarray(run->batches, run->capacity,
						sizeof *run->batches);
	}
	run->batches[run->n_batches++] =
		(struct sfs_quality_batch){pairs / (b * (b - 1)), run->n_seen};
	run->n = run->n_seen = 0;
}

void sfs_quality_add(struct sfs_quality_run *run, uint32_t shard)
{
	if (run->counts[shard]++ == 0)
		run->seen[run->n_seen++] = shard;
	run->n_samples++;
	if (++run->n == run->batch)
		end_batch(run);
}

static struct sfs_quality_batch mean_of(const struct sfs_quality_run *run, uint64_t first,
					uint64_t end)
{
	struct sfs_quality_batch mean = {0};
	uint64_t i;

	for (i = first; i < end; i++) {
		mean.same += run->batches[i].same;
		mean.n_shards += run->batches[i].n_shards;
	}
	mean.same /= (double)(end - first);
	mean.n_shards /= (double)(end - first);
	return mean;
}

void sfs_quality_fold(struct sfs_quality_run *run, uint64_t first, uint64_t n)
{
	struct sfs_quality_batch mean;
	uint64_t i;

	if (first + n >= run->n_batches)
		return;
	mean = mean_of(run, first, run->n_batches);
	for (i = first; i < first + n; i++)
		run->batches[i] = mean;
	run->n_batches = first + n;
}

/* B_eff of the batches from `first` to `end`. */
static double effective(const struct sfs_quality_run *run, uint64_t first, uint64_t end)
{
	double same, rho, b = run->batch, ret;

	if (first == end)
		return 0;
	same = mean_of(run, first, end).same;
	rho = run->chance < 1 ? (same - run->chance) / (1 - run->chance) : 0;
	ret = b / (1 + (b - 1) * rho);
	return ret > b || ret < 0 ? b : ret;
}

void sfs_quality_end(struct sfs_quality_run *run, struct sfs_quality *ret)
{
	uint64_t n = run->n_batches;
	double part;
	int i;

	*ret = (struct sfs_quality){.n_samples = run->n_samples,
				    .n_batches = n,
				    .whole = effective(run, 0, n),
				    .first = effective(run, 0, n ? 1 : 0),
				    .worst_tenth = effective(run, 0, n),
				    .n_shards = n ? mean_of(run, 0, n).n_shards : 0};
	for (i = 0; n >= N_PARTS && i < N_PARTS; i++) {
		part = effective(run, n * i / N_PARTS, n * (i + 1) / N_PARTS);
		if (part < ret->worst_tenth)
			ret->worst_tenth = part;
	}
	free(run->counts);
	free(run->seen);
	free(run->batches);
	*run = (struct sfs_quality_run){0};
}

/* ---- from epoch to epoch ---- */

static uint64_t count_batches(const uint32_t *batches, uint64_t n, uint32_t batch)
{
	uint64_t i, n_batched = 0;

	for (i = 0; i < n; i++)
		n_batched += batches[i] != SFS_NO_BATCH;
	return n_batched / batch;
}

/* The numbers of `after`, gathered by the batch before: `batch` slots for each. */
static uint32_t *gather(const uint32_t *before, const uint32_t *after, uint64_t n,
			uint32_t batch, uint64_t n_batches)
{
	uint32_t *slots = sfs_reallocarray(NULL, n_batches * batch, sizeof *slots);
	sfs_autofree uint32_t *filled = sfs_calloc(n_batches, sizeof *filled);
	uint64_t i;

	for (i = 0; i < n; i++)
		if (before[i] != SFS_NO_BATCH)
			slots[(size_t)before[i] * batch + filled[before[i]]++] = after[i];
	return slots;
}

/* Pairs of equal numbers among the n.  The counts are zeros, and will be again. */
static uint64_t count_pairs(const uint32_t *numbers, size_t n, uint32_t *counts)
{
	uint64_t pairs = 0;
	size_t i;

	for (i = 0; i < n; i++)
		if (numbers[i] != SFS_NO_BATCH)
			pairs += counts[numbers[i]]++;
	for (i = 0; i < n; i++)
		if (numbers[i] != SFS_NO_BATCH)
			counts[numbers[i]] = 0;
	return pairs;
}

double sfs_quality_lift(const uint32_t *before, const uint32_t *after, uint64_t n,
			uint32_t batch)
{
	uint64_t n_before = count_batches(before, n, batch), pairs = 0, i;
	uint64_t n_after = count_batches(after, n, batch);
	double b = batch, all = (double)n * (double)(n - 1) / 2, by_chance;
	sfs_autofree uint32_t *slots = NULL, *counts = NULL;

	if (n_before == 0 || n_after == 0)
		return 0;
	slots = gather(before, after, n, batch, n_before);
	counts = sfs_calloc(n_after, sizeof *counts);
	for (i = 0; i < n_before; i++)
		pairs += count_pairs(slots + i * batch, batch, counts);
	by_chance = (double)n_before * b * (b - 1) / 2 * (double)n_after * b * (b - 1) /
		    2 / all;
	return (double)pairs / by_chance;
}
