/* SPDX-License-Identifier: MIT */
#include "memory/blocks.h"

#include "base/alloc.h"

#include <assert.h>

#define ALL	  ((uint32_t)0xffff)
#define WORD_BITS 64

struct sfs_block {
	enum sfs_block_kind kind;
	uint16_t free; /* bits of slabs */
	uint16_t warm; /* those of a small block that are free and have memory */
};

/* ---- sets of blocks ---- */

static size_t n_words(const struct sfs_blocks *b)
{
	return (b->n + WORD_BITS - 1) / WORD_BITS;
}

static bool lowest(const struct sfs_blocks *b, enum sfs_block_set set, size_t *ret)
{
	const uint64_t *words = b->sets[set];
	size_t i;

	for (i = 0; i < n_words(b); i++) {
		if (words[i]) {
			*ret = i * WORD_BITS + (size_t)__builtin_ctzll(words[i]);
			return true;
		}
	}
	return false;
}

static bool highest(const struct sfs_blocks *b, enum sfs_block_set set, size_t *ret)
{
	const uint64_t *words = b->sets[set];
	size_t i;

	for (i = n_words(b); i-- > 0;) {
		if (words[i]) {
			*ret = i * WORD_BITS + WORD_BITS - 1 -
			       (size_t)__builtin_clzll(words[i]);
			return true;
		}
	}
	return false;
}

static void set_if(struct sfs_blocks *b, enum sfs_block_set set, size_t i, bool is_in)
{
	uint64_t bit = (uint64_t)1 << (i % WORD_BITS), *word = &b->sets[set][i / WORD_BITS];

	*word = is_in ? *word | bit : *word & ~bit;
}

/* Block i has changed. */
static void sort(struct sfs_blocks *b, size_t i)
{
	const struct sfs_block *block = &b->blocks[i];
	bool is_filled = block->kind == SFS_BLOCK_FILLED,
	     is_small = block->kind == SFS_BLOCK_SMALL;

	set_if(b, SFS_BLOCKS_EMPTY, i, block->kind == SFS_BLOCK_EMPTY);
	set_if(b, SFS_BLOCKS_FILLED_FREE, i, is_filled && block->free != 0);
	set_if(b, SFS_BLOCKS_UNUSED, i, is_filled && block->free == ALL);
	set_if(b, SFS_BLOCKS_WARM, i, is_small && block->warm != 0);
	set_if(b, SFS_BLOCKS_COLD, i, is_small && block->free != block->warm);
}

/* ---- life ---- */

void sfs_blocks_init(struct sfs_blocks *b, size_t n_blocks)
{
	size_t i;

	*b = (struct sfs_blocks){.n = n_blocks};
	b->blocks = sfs_calloc(n_blocks, sizeof *b->blocks);
	for (i = 0; i < SFS_BLOCKS_N_SETS; i++)
		b->sets[i] = sfs_calloc(n_words(b), sizeof *b->sets[i]);
	for (i = 0; i < n_blocks; i++)
		sort(b, i);
}

void sfs_blocks_done(struct sfs_blocks *b)
{
	size_t i;

	for (i = 0; i < SFS_BLOCKS_N_SETS; i++)
		free(b->sets[i]);
	free(b->blocks);
	*b = (struct sfs_blocks){0};
}

/* ---- slabs ---- */

/* The block of which a slab is handed out next, and which of its slabs may be. */
static uint32_t choose(struct sfs_blocks *b, size_t *ret_block, bool *ret_is_new)
{
	struct sfs_block *block;

	if (b->n_filled_free > 0 && lowest(b, SFS_BLOCKS_FILLED_FREE, ret_block))
		return b->blocks[*ret_block].free;
	if (b->n_small_warm > 0 && highest(b, SFS_BLOCKS_WARM, ret_block))
		return b->blocks[*ret_block].warm;
	if (highest(b, SFS_BLOCKS_COLD, ret_block))
		return b->blocks[*ret_block].free;
	if (!highest(b, SFS_BLOCKS_EMPTY, ret_block))
		assert(!"the slabs have run out");
	block = &b->blocks[*ret_block];
	block->kind = SFS_BLOCK_SMALL;
	block->free = ALL;
	*ret_is_new = true;
	return ALL;
}

size_t sfs_blocks_get(struct sfs_blocks *b, bool *ret_is_new)
{
	size_t i;
	uint32_t some, bit;
	struct sfs_block *block;

	*ret_is_new = false;
	some = choose(b, &i, ret_is_new);
	block = &b->blocks[i];
	bit = some & -some;
	block->free &= (uint16_t)~bit;
	b->n_used++;
	if (block->kind == SFS_BLOCK_SMALL) {
		b->n_small_used++;
		b->n_small_warm -= (block->warm & bit) != 0;
		block->warm &= (uint16_t)~bit;
	} else {
		b->n_filled_free--;
	}
	sort(b, i);
	return i * SFS_BLOCK_SLABS + (size_t)__builtin_ctz(bit);
}

bool sfs_blocks_put(struct sfs_blocks *b, size_t slab)
{
	size_t i = slab / SFS_BLOCK_SLABS;
	struct sfs_block *block = &b->blocks[i];
	uint16_t bit = (uint16_t)(1 << slab % SFS_BLOCK_SLABS);
	bool is_small = block->kind == SFS_BLOCK_SMALL;

	assert(!(block->free & bit) && (is_small || block->kind == SFS_BLOCK_FILLED));
	block->free |= bit;
	b->n_used--;
	if (is_small) {
		b->n_small_used--;
		b->n_small_warm++;
		block->warm |= bit;
	} else {
		b->n_filled_free++;
	}
	sort(b, i);
	return is_small;
}

/* ---- memory ---- */

bool sfs_blocks_fill(struct sfs_blocks *b, size_t *ret_block)
{
	if (!lowest(b, SFS_BLOCKS_EMPTY, ret_block))
		return false;
	b->blocks[*ret_block].kind = SFS_BLOCK_FILLING;
	b->n_filled++;
	sort(b, *ret_block);
	return true;
}

void sfs_blocks_filled(struct sfs_blocks *b, size_t block)
{
	b->blocks[block].kind = SFS_BLOCK_FILLED;
	b->blocks[block].free = ALL;
	b->n_filled_free += SFS_BLOCK_SLABS;
	sort(b, block);
}

bool sfs_blocks_cool(struct sfs_blocks *b, size_t *ret_slab)
{
	struct sfs_block *block;
	size_t i;

	if (b->n_small_warm == 0 || !lowest(b, SFS_BLOCKS_WARM, &i))
		return false;
	block = &b->blocks[i];
	*ret_slab = i * SFS_BLOCK_SLABS + (size_t)__builtin_ctz(block->warm);
	block->warm &= (uint16_t)(block->warm - 1);
	b->n_small_warm--;
	if (block->free == ALL && block->warm == 0)
		block->kind = SFS_BLOCK_EMPTY;
	sort(b, i);
	return true;
}

bool sfs_blocks_empty(struct sfs_blocks *b, size_t *ret_block)
{
	if (!highest(b, SFS_BLOCKS_UNUSED, ret_block))
		return false;
	b->blocks[*ret_block].kind = SFS_BLOCK_EMPTY;
	b->n_filled--;
	b->n_filled_free -= SFS_BLOCK_SLABS;
	sort(b, *ret_block);
	return true;
}
