/* SPDX-License-Identifier: MIT */
#include "order/numbering.h"

#include "base/alloc.h"

/* The entries of shard_of; many for each shard, so that most searches find it at once. */
static uint64_t count_marks(const struct sfs_numbering *n)
{
	return (sfs_numbering_n(n) >> n->shift) + 1;
}

void sfs_numbering_init(struct sfs_numbering *n, uint64_t *first, uint32_t n_shards)
{
	uint32_t shard = 0;
	uint64_t i;

	*n = (struct sfs_numbering){.n_shards = n_shards, .first = first};
	while (count_marks(n) > 16 * (uint64_t)n_shards + 1024)
		n->shift++;
	n->shard_of = sfs_calloc(count_marks(n), sizeof *n->shard_of);
	for (i = 0; i < count_marks(n); i++) {
		while (shard + 1 < n_shards && first[shard + 1] <= i << n->shift)
			shard++;
		n->shard_of[i] = shard;
	}
}

void sfs_numbering_done(struct sfs_numbering *n)
{
	free(n->first);
	free(n->shard_of);
	*n = (struct sfs_numbering){0};
}

uint64_t sfs_numbering_memory(const struct sfs_numbering *n)
{
	if (!n->first)
		return 0;
	return ((uint64_t)n->n_shards + 1) * sizeof *n->first +
	       count_marks(n) * sizeof *n->shard_of;
}
