/* SPDX-License-Identifier: MIT */
#include "rng.h"

void sfs_rng_init(struct sfs_rng *r, const uint64_t *words, size_t n)
{
	size_t i;

	r->state = 0;
	for (i = 0; i < n; i++)
		sfs_rng_name(r, words[i]);
}

void sfs_rng_shuffle(struct sfs_rng *r, uint32_t *a, size_t n)
{
	uint32_t other;
	size_t i, j;

	for (i = n; i > 1; i--) {
		j = sfs_rng_below(r, i);
		other = a[i - 1];
		a[i - 1] = a[j];
		a[j] = other;
	}
}
