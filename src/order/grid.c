/* SPDX-License-Identifier: MIT */
/* How this works: number x lies in row x / columns and column x % columns.  Each round
 * adds a pseudorandom number to the row that depends on the column only, or to the column
 * that depends on the row only, and so can be undone.  Because there are so few rows and
 * columns, all these numbers fit into tables, which are asked five times as fast as the
 * generator. */
#include "order/grid.h"

#include "base/alloc.h"
#include "base/rng.h"

#define PURPOSE_GRID 5
#define FEW	     4096 /* numbers: six rounds would show their pattern */

/* The least a with a * a >= n. */
static uint32_t root_of(uint32_t n)
{
	uint32_t low = 0, high = 65536, middle;

	while (low < high) {
		middle = (low + high) / 2;
		if ((uint64_t)middle * middle < n)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The first n numbers of a generator, each times `below` and then the upper half. */
static uint32_t *make_table(struct sfs_rng r, uint32_t n, uint32_t below)
{
	uint32_t *table = sfs_reallocarray(NULL, n, sizeof *table), i;

	for (i = 0; i < n; i++)
		table[i] = (uint32_t)((unsigned __int128)sfs_rng_next(&r) * below >> 64);
	return table;
}

void sfs_grid_init(struct sfs_grid *g, uint64_t seed, uint64_t epoch, uint32_t n)
{
	struct sfs_rng r;
	int i;

	*g = (struct sfs_grid){.n = n, .rows = root_of(n), .n_rounds = n < FEW ? 12 : 6};
	if (n == 0)
		return;
	g->columns = (uint32_t)(((uint64_t)n + g->rows - 1) / g->rows);
	for (i = 0; i < g->n_rounds; i++) {
		const uint64_t words[] = {seed, epoch, 0, (uint64_t)i, PURPOSE_GRID};

		sfs_rng_init(&r, words, SFS_COUNT(words));
		g->table[i] = i % 2 == 0 ? make_table(r, g->columns, g->rows)
					 : make_table(r, g->rows, g->columns);
	}
}

void sfs_grid_done(struct sfs_grid *g)
{
	int i;

	for (i = 0; i < g->n_rounds; i++)
		free(g->table[i]);
	*g = (struct sfs_grid){0};
}
