/* SPDX-License-Identifier: MIT */
#include "rng.h"

#define GOLDEN 0x9e3779b97f4a7c15ULL

static uint64_t mix(uint64_t z)
{
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

void sfs_rng_init(struct sfs_rng *r, const uint64_t *words, size_t n)
{
	size_t i;

	r->state = 0;
	for (i = 0; i < n; i++)
		r->state = mix((r->state ^ words[i]) + GOLDEN);
}

uint64_t sfs_rng_next(struct sfs_rng *r)
{
	r->state += GOLDEN;
	return mix(r->state);
}

uint64_t sfs_rng_below(struct sfs_rng *r, uint64_t n)
{
	unsigned __int128 m = (unsigned __int128)sfs_rng_next(r) * n;
	uint64_t threshold;

	if ((uint64_t)m < n) {
		threshold = -n % n; /* 2^64 mod n */
		while ((uint64_t)m < threshold)
			m = (unsigned __int128)sfs_rng_next(r) * n;
	}
	return (uint64_t)(m >> 64);
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
