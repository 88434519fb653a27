/* SPDX-License-Identifier: MIT */
/* quality - how well an order shuffles, as a number.
 *
 * If each shard were one class, the worst case, how many independent samples is a batch
 * worth?  With P_same the probability that two samples of a batch are of one shard, P_0
 * what it is in a uniform permutation, and rho = (P_same - P_0) / (1 - P_0), it is
 *
 *     B_eff = b / (1 + (b - 1) rho)
 *
 * (Kish's design effect), at most b: more would say that a batch has fewer pairs of one
 * shard than chance has.  Pure.
 */
#ifndef SFS_QUALITY_H
#define SFS_QUALITY_H

#include <stddef.h>
#include <stdint.h>

struct sfs_quality {
	uint64_t n_samples;  /* that were added */
	uint64_t n_batches;  /* whole batches; what is left over is not counted */
	double whole, first; /* B_eff of all batches, and of the first */
	double worst_tenth;  /* of the worst of ten runs of neighbouring batches */
	double n_shards;     /* distinct ones in a batch, on average */
};

struct sfs_quality_batch {
	double same, n_shards; /* P_same, distinct shards */
};

struct sfs_quality_run {
	uint32_t batch, n_shards;
	double chance; /* P_0 */

	/* The batch that is being gathered. */
	uint32_t *counts; /* of its samples, by shard */
	uint32_t *seen;	  /* the shards that it has */
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
/* From now on the whole batches from number `first` on count as n > 0 batches of their
 * mean: they were looked at more closely than others. */
void sfs_quality_fold(struct sfs_quality_run *run, uint64_t first, uint64_t n);
/* The result; the run is over. */
void sfs_quality_end(struct sfs_quality_run *run, struct sfs_quality *ret_quality);

/* How much likelier than by chance are two samples that share a batch in one epoch to
 * share one in the next?  Sample i is in batch before[i], and in batch after[i].  1: as
 * likely.  0 if there are no two batches. */
double sfs_quality_lift(const uint32_t *before, const uint32_t *after, uint64_t n_samples,
			uint32_t batch);

#endif
