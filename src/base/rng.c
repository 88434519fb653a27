/* SPDX-License-Identifier: MIT */
#include "base/rng.h"

#define LARGE	65536 /* numbers: more than the processor has at hand */
#define N_AHEAD 32

void sfs_rng_init(struct sfs_rng *r, const uint64_t *words, size_t n)
{
	size_t i;

	r->state = 0;
	for (i = 0; i < n; i++)
		sfs_rng_name(r, words[i]);
}

static inline void swap(uint32_t *a, size_t i, size_t j)
{
	uint32_t other = a[i];

	a[i] = a[j];
	a[j] = other;
}

/* Numbers are drawn ahead of the swaps, whose places then come from memory meanwhile. */
static size_t shuffle_large(struct sfs_rng *r, uint32_t *a, size_t n)
{
	size_t places[N_AHEAD], i, k;

	for (i = n; i > LARGE; i -= N_AHEAD) {
		for (k = 0; k < N_AHEAD; k++) {
			places[k] = sfs_rng_below(r, i - k);
			__builtin_prefetch(&a[places[k]], 1);
		}
		for (k = 0; k < N_AHEAD; k++)
			swap(a, i - k - 1, places[k]);
	}
	return i;
}

void sfs_rng_shuffle(struct sfs_rng *r, uint32_t *a, size_t n)
{
	size_t i;

	for (i = n > LARGE ? shuffle_large(r, a, n) : n; i > 1; i--)
		swap(a, i - 1, sfs_rng_below(r, i));
}
