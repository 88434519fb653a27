/* SPDX-License-Identifier: MIT */
/* sums - which byte of a part of an epoch is where, if it is one of single samples.
 *
 * One pass over the tables as they lie adds each length up where the sample is in the
 * part; a search then reads the lengths of a few thousand samples at most.  Pure.
 */
#ifndef SFS_SUMS_H
#define SFS_SUMS_H

#include "order/block.h"
#include "order/order.h"

#define SFS_SUMS_SHIFT 12 /* a sum for each 4096 samples */

struct sfs_sums {
	const struct sfs_order *order;
	struct sfs_sample_tables tables; /* whole, and stay so */
	uint64_t *before; /* the bytes before samples 0, 4096, ... of the part, and all */
};

void sfs_sums_init(struct sfs_sums *s, const struct sfs_order *order,
		   const struct sfs_sample_tables *tables);
void sfs_sums_done(struct sfs_sums *s);

/* The bytes before sample k of the part, or all if it has only k. */
uint64_t sfs_sums_before(const struct sfs_sums *s, uint64_t k);

/* The sample that holds byte `offset`, and the byte at which it begins; past the end, the
 * number of samples, and all bytes. */
uint64_t sfs_sums_find(const struct sfs_sums *s, uint64_t offset, uint64_t *ret_start);

/* The bytes of all samples of the part: without sums. */
uint64_t sfs_sums_all(const struct sfs_order *order,
		      const struct sfs_sample_tables *tables);

/* Bytes of memory that they take. */
uint64_t sfs_sums_memory(const struct sfs_order *order);

#endif
