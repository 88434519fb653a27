/* SPDX-License-Identifier: MIT */
/* grid - a permutation of 0 to n-1 that can be asked for any one number, and backwards.
 *
 * A Feistel network on pairs of numbers (Black and Rogaway: "Ciphers with Arbitrary
 * Finite Domains", 2002).  docs/ORDER.md specifies it, so it may never change.  Its
 * tables take 24 or 48 bytes for each of the about sqrt(n) rows.  Pure; any number of
 * threads may ask.
 */
#ifndef SFS_GRID_H
#define SFS_GRID_H

#include <stdint.h>

#define SFS_GRID_ROUNDS_MAX 12

struct sfs_grid {
	uint32_t n, rows, columns; /* rows * columns >= n */
	int n_rounds;		   /* even */
	/* What a round adds: to the row, for each column, in the even ones; to the
	 * column, for each row, in the odd ones. */
	uint32_t *table[SFS_GRID_ROUNDS_MAX];
};

/* The permutation of n numbers for an epoch. */
void sfs_grid_init(struct sfs_grid *g, uint64_t seed, uint64_t epoch, uint32_t n);
void sfs_grid_done(struct sfs_grid *g);

/* Bytes of memory that its tables take. */
static inline uint64_t sfs_grid_memory(const struct sfs_grid *g)
{
	return (uint64_t)g->n_rounds / 2 * ((uint64_t)g->rows + g->columns) *
	       sizeof *g->table[0];
}

/* a + b and a - b modulo n, for a and b below n <= 65536. */
static inline uint32_t sfs_grid_add(uint32_t a, uint32_t b, uint32_t n)
{
	uint32_t sum = a + b;

	return sum >= n ? sum - n : sum;
}

static inline uint32_t sfs_grid_subtract(uint32_t a, uint32_t b, uint32_t n)
{
	return a >= b ? a - b : a + n - b;
}

/* The number at position p < n.  (What lands behind the last number goes round again.) */
static inline uint32_t sfs_grid_at(const struct sfs_grid *g, uint32_t p)
{
	uint32_t row, column;
	int i;

	do {
		row = p / g->columns;
		column = p % g->columns;
		for (i = 0; i < g->n_rounds; i += 2) {
			row = sfs_grid_add(row, g->table[i][column], g->rows);
			column = sfs_grid_add(column, g->table[i + 1][row], g->columns);
		}
		p = row * g->columns + column;
	} while (p >= g->n);
	return p;
}

/* The position of the number x < n. */
static inline uint32_t sfs_grid_position(const struct sfs_grid *g, uint32_t x)
{
	uint32_t row, column;
	int i;

	do {
		row = x / g->columns;
		column = x % g->columns;
		for (i = g->n_rounds - 2; i >= 0; i -= 2) {
			column = sfs_grid_subtract(column, g->table[i + 1][row],
						   g->columns);
			row = sfs_grid_subtract(row, g->table[i][column], g->rows);
		}
		x = row * g->columns + column;
	} while (x >= g->n);
	return x;
}

#endif
