/* SPDX-License-Identifier: MIT */
/* blocks - which slab is handed out next, and whose memory can go back.
 *
 * Slabs lie in blocks of the size of a huge page.  A block is empty; or it was filled as a
 * whole, and goes back as a whole; or it is small: its slabs get their memory by being
 * used, and give it back one by one.
 *
 * Filled blocks come first, and of them the lowest, so that those above become free.
 * Blocks are filled from below, small ones are begun from above.
 *
 * This only keeps count.  The caller fills and frees the memory, and holds a lock. */
#ifndef SFS_BLOCKS_H
#define SFS_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SFS_BLOCK_SLABS 16

enum sfs_block_kind { SFS_BLOCK_EMPTY, SFS_BLOCK_FILLING, SFS_BLOCK_FILLED, SFS_BLOCK_SMALL };

enum sfs_block_set {
	SFS_BLOCKS_EMPTY,
	SFS_BLOCKS_FILLED_FREE, /* filled, and a slab or more is free */
	SFS_BLOCKS_UNUSED,	/* filled, and all slabs are free */
	SFS_BLOCKS_WARM,	/* small, and a free slab has memory */
	SFS_BLOCKS_COLD,	/* small, and a free slab has none */
	SFS_BLOCKS_N_SETS
};

struct sfs_blocks {
	size_t n;
	struct sfs_block *blocks;
	uint64_t *sets[SFS_BLOCKS_N_SETS]; /* bits */

	size_t n_used;	       /* slabs that are handed out */
	size_t n_filled;       /* blocks; also one that is being filled */
	size_t n_filled_free;  /* slabs of filled blocks that are free */
	size_t n_small_used;   /* slabs of small blocks that are handed out */
	size_t n_small_warm;   /* those that are free and have memory */
};

void sfs_blocks_init(struct sfs_blocks *b, size_t n_blocks);
void sfs_blocks_done(struct sfs_blocks *b);

/* Hand out a slab, by its number.  *ret_is_new: it is the first of a small block, which was
 * empty.  There must be one: not all may be in use or in a block that is being filled. */
size_t sfs_blocks_get(struct sfs_blocks *b, bool *ret_is_new);

/* Take it back; true: it is small. */
bool sfs_blocks_put(struct sfs_blocks *b, size_t slab);

/* Begin to fill a block, by its number (false: none is empty); it has been filled. */
bool sfs_blocks_fill(struct sfs_blocks *b, size_t *ret_block);
void sfs_blocks_filled(struct sfs_blocks *b, size_t block);

/* A free slab whose memory goes back now; a block of which all slabs are free, likewise.
 * false: there is none. */
bool sfs_blocks_cool(struct sfs_blocks *b, size_t *ret_slab);
bool sfs_blocks_empty(struct sfs_blocks *b, size_t *ret_block);

/* Slabs that are free and have memory; all that have memory. */
static inline size_t sfs_blocks_ready(const struct sfs_blocks *b)
{
	return b->n_filled_free + b->n_small_warm;
}

static inline size_t sfs_blocks_held(const struct sfs_blocks *b)
{
	return b->n_filled * SFS_BLOCK_SLABS + b->n_small_used + b->n_small_warm;
}

#endif
