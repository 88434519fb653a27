/* SPDX-License-Identifier: MIT */
/* Whatever is taken, put back, filled and freed in whatever order: no slab is handed out
 * twice, or has its memory taken while it is used; filled ones come first, the lowest of
 * them first; the counts are true; and a block is free when all its slabs are. */
#include "base/alloc.h"
#include "base/rng.h"
#include "check.h"
#include "memory/blocks.h"

#define N_BLOCKS 70 /* more than a word of bits */
#define N	 ((size_t)N_BLOCKS * SFS_BLOCK_SLABS)

/* What the caller knows of each slab, counted by hand. */
static struct {
	bool is_used, is_filled, has_memory;
} slabs[N];
static size_t used[N], n_used;
static size_t filling = N_BLOCKS; /* N_BLOCKS: none */
static struct sfs_blocks blocks;

static bool is_ready(size_t k)
{
	return slabs[k].has_memory && !slabs[k].is_used && k / SFS_BLOCK_SLABS != filling;
}

static void get(void)
{
	bool is_new, is_warm = false;
	size_t i, k, lowest = N;

	if (n_used == N - SFS_BLOCK_SLABS) /* the rest may be in a block to be filled */
		return;
	for (k = N; k-- > 0;) {
		lowest = slabs[k].is_filled && is_ready(k) ? k : lowest;
		is_warm |= is_ready(k);
	}
	i = sfs_blocks_get(&blocks, &is_new);
	CHECK(i < N && !slabs[i].is_used && i / SFS_BLOCK_SLABS != filling);
	CHECK(lowest == N || i == lowest);
	CHECK_EQ(slabs[i].has_memory, is_warm); /* those that have memory first */
	slabs[i].is_used = slabs[i].has_memory = true;
	used[n_used++] = i;
}

static void put(struct sfs_rng *r)
{
	size_t k, i;

	if (n_used == 0)
		return;
	k = sfs_rng_below(r, n_used);
	i = used[k];
	used[k] = used[--n_used];
	CHECK_EQ(sfs_blocks_put(&blocks, i), !slabs[i].is_filled);
	slabs[i].is_used = false;
}

/* In a block, all slabs are empty; or all are filled. */
static void fill(void)
{
	size_t k, at;

	if (filling < N_BLOCKS) {
		sfs_blocks_filled(&blocks, filling);
		filling = N_BLOCKS;
		return;
	}
	if (!sfs_blocks_fill(&blocks, &filling)) {
		filling = N_BLOCKS;
		return;
	}
	for (k = 0; k < SFS_BLOCK_SLABS; k++) {
		at = filling * SFS_BLOCK_SLABS + k;
		CHECK(!slabs[at].is_used && !slabs[at].has_memory);
		slabs[at].is_filled = slabs[at].has_memory = true;
	}
}

static void cool(void)
{
	bool is_there = false;
	size_t i, k;

	for (k = 0; k < N; k++)
		is_there |= is_ready(k) && !slabs[k].is_filled;
	CHECK_EQ(sfs_blocks_cool(&blocks, &i), is_there);
	if (!is_there)
		return;
	CHECK(is_ready(i) && !slabs[i].is_filled);
	slabs[i].has_memory = false;
}

static bool is_unused(size_t block)
{
	size_t k, at;

	for (k = 0; k < SFS_BLOCK_SLABS; k++) {
		at = block * SFS_BLOCK_SLABS + k;
		if (!slabs[at].is_filled || slabs[at].is_used)
			return false;
	}
	return block != filling;
}

static void empty(void)
{
	size_t block, k, highest = N_BLOCKS;

	for (k = 0; k < N_BLOCKS; k++)
		highest = is_unused(k) ? k : highest;
	CHECK_EQ(sfs_blocks_empty(&blocks, &block), highest != N_BLOCKS);
	if (highest == N_BLOCKS)
		return;
	CHECK_EQ(block, highest);
	for (k = 0; k < SFS_BLOCK_SLABS; k++)
		slabs[block * SFS_BLOCK_SLABS + k].is_filled =
			slabs[block * SFS_BLOCK_SLABS + k].has_memory = false;
}

static void count(void)
{
	size_t k, n_held = 0, n_filled = 0, n_ready = 0;

	for (k = 0; k < N; k++) {
		n_held += slabs[k].has_memory;
		n_filled += slabs[k].is_filled;
		n_ready += is_ready(k);
	}
	CHECK_EQ(blocks.n_used, n_used);
	CHECK_EQ(sfs_blocks_held(&blocks), n_held);
	CHECK_EQ(sfs_blocks_ready(&blocks), n_ready);
	CHECK_EQ(blocks.n_filled * SFS_BLOCK_SLABS, n_filled);
}

/* Phases in which more is taken than put back, and others. */
static void storm(uint64_t seed)
{
	struct sfs_rng r = {seed};
	uint64_t what, gets = 10, fills = 10;
	int step;

	sfs_blocks_init(&blocks, N_BLOCKS);
	for (step = 0; step < 60000; step++) {
		if (step % 3000 == 0) {
			gets = sfs_rng_below(&r, 60) + 10;
			fills = sfs_rng_below(&r, 20);
		}
		what = sfs_rng_below(&r, 100);
		if (what < gets)
			get();
		else if (what < 80)
			put(&r);
		else if (what < 80 + fills)
			fill();
		else if (what % 2)
			cool();
		else
			empty();
		if (step % 16 == 0)
			count();
	}
	while (n_used > 0)
		put(&r);
	if (filling < N_BLOCKS)
		fill();
	while (sfs_blocks_ready(&blocks) > 0) {
		cool();
		empty();
	}
	count();
	CHECK_EQ(sfs_blocks_held(&blocks), 0);
	sfs_blocks_done(&blocks);
}

int main(void)
{
	uint64_t seed;

	for (seed = 1; seed <= 4; seed++)
		storm(seed);
	return 0;
}
