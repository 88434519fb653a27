/* SPDX-License-Identifier: MIT */
/* quality - how well an order shuffles, as a number.
 *
 * If each shard were one class, the worst case, to how many independent samples does a
 * batch amount?  With P_same the probability that two samples of a batch are from the
 * same shard, P_0 that probability in a uniform permutation, and rho = (P_same - P_0) /
 * (1 - P_0), the answer is
 *
 *     B_eff = b / (1 + (b - 1) rho)
 *
 * (Kish's design effect), but at most b: more would mean fewer pairs from the same shard
 * than by chance.
 *
 * And how often do the samples of a batch meet again in another epoch?  Pure.
 */
#ifndef SFS_QUALITY_H
#define SFS_QUALITY_H

#include <stddef.h>
#include <stdint.h>

struct sfs_quality {
	uint64_t n_samples;  /* that were added */
	uint64_t n_batches;  /* whole batches; the rest is not counted */
	double whole, first; /* B_eff of all batches, and of the first */
	double worst_tenth;  /* of the worst tenth of the epoch */
	double n_shards;     /* distinct ones in a batch, on average */
};

struct sfs_quality_batch {
	double same, n_shards; /* P_same, distinct shards */
};

struct sfs_quality_run {
	uint32_t batch, n_shards;
	double chance; /* P_0 */

	/* The current batch. */
	uint32_t *counts; /* of its samples, by shard */
	uint32_t *seen;	  /* its shards */
	uint32_t n, n_seen;

	uint64_t n_samples, n_batches;
	struct sfs_quality_batch *batches;
	uint64_t capacity;
};

/* Batches of `batch` > 1 samples, from shards of these numbers of samples. */
void sfs_quality_begin(struct sfs_quality_run *run, uint32_t batch, uint32_t n_shards,
		       const uint64_t *n_samples);
/* The next sample is of this shard. */
void sfs_quality_add(struct sfs_quality_run *run, uint32_t shard);
/* From now on the whole batches from number `first` on count as n > 0 batches with their
 * mean: they were sampled more densely than others. */
void sfs_quality_fold(struct sfs_quality_run *run, uint64_t first, uint64_t n);
/* Compute the result and free the run. */
void sfs_quality_end(struct sfs_quality_run *run, struct sfs_quality *ret_quality);

/* ---- from epoch to epoch ---- */

#define SFS_NO_BATCH UINT32_MAX

/* How much more often than by chance do two samples that share a batch in one epoch share
 * one in another?  Sample i of n is in batch before[i], then in batch after[i]: numbers
 * from 0 without a gap, each of `batch` > 1 samples; or SFS_NO_BATCH.  By chance is what
 * a random permutation of the samples would give.  1: as often; 0: never, or there is no
 * batch. */
double sfs_quality_lift(const uint32_t *before, const uint32_t *after, uint64_t n,
			uint32_t batch);

#endif
