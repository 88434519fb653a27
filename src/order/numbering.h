/* SPDX-License-Identifier: MIT */
/* numbering - the samples of all shards, numbered through in the order of the dataset.
 *
 * Finds the shard of a number in a step or two.  Pure.
 */
#ifndef SFS_NUMBERING_H
#define SFS_NUMBERING_H

#include <stdint.h>

struct sfs_numbering {
	uint32_t n_shards;
	uint64_t *first; /* the number of a shard's first sample; n_shards + 1 of them */
	uint32_t *shard_of; /* of each number that is a multiple of 1 << shift */
	int shift;
};

/* Takes `first`, whose last is the number of all samples. */
void sfs_numbering_init(struct sfs_numbering *n, uint64_t *first, uint32_t n_shards);
void sfs_numbering_done(struct sfs_numbering *n);

/* How many samples there are. */
static inline uint64_t sfs_numbering_n(const struct sfs_numbering *n)
{
	return n->first[n->n_shards];
}

/* The shard that has sample `number`, of those that there are. */
static inline uint32_t sfs_numbering_shard(const struct sfs_numbering *n, uint64_t number)
{
	uint32_t shard = n->shard_of[number >> n->shift];

	while (n->first[shard + 1] <= number)
		shard++;
	return shard;
}

/* Bytes of memory that it takes. */
uint64_t sfs_numbering_memory(const struct sfs_numbering *n);

#endif
