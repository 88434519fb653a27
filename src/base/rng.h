/* SPDX-License-Identifier: MIT */
/* rng - a named, seeded generator that gives the same numbers everywhere.
 *
 * SplitMix64 (Steele, Lea, Flood: "Fast Splittable Pseudorandom Number
 * Generators", OOPSLA 2014; the constants are those of Java 8's
 * SplittableRandom), and Lemire's bounded draw ("Fast Random Integer
 * Generation in an Interval", ACM TOMACS 2019).  docs/ORDER.md states both for
 * other languages; nothing here may ever change.
 */
#ifndef SFS_RNG_H
#define SFS_RNG_H

#include <stddef.h>
#include <stdint.h>

struct sfs_rng {
	uint64_t state;
};

#define SFS_RNG_GOLDEN 0x9e3779b97f4a7c15ULL

static inline uint64_t sfs_rng_mix(uint64_t z)
{
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

/* Start the generator that the n words name; another word, another sequence. */
void sfs_rng_init(struct sfs_rng *r, const uint64_t *words, size_t n);

/* A word more in the name of one that was started, and has given no numbers. */
static inline void sfs_rng_name(struct sfs_rng *r, uint64_t word)
{
	r->state = sfs_rng_mix((r->state ^ word) + SFS_RNG_GOLDEN);
}

/* The next 64 bits. */
static inline uint64_t sfs_rng_next(struct sfs_rng *r)
{
	return sfs_rng_mix(r->state += SFS_RNG_GOLDEN);
}

/* A number from 0 to n-1, each as likely; n > 0. */
static inline uint64_t sfs_rng_below(struct sfs_rng *r, uint64_t n)
{
	unsigned __int128 m = (unsigned __int128)sfs_rng_next(r) * n;
	uint64_t threshold;

	if (__builtin_expect((uint64_t)m < n, 0)) {
		threshold = -n % n; /* 2^64 mod n */
		while ((uint64_t)m < threshold)
			m = (unsigned __int128)sfs_rng_next(r) * n;
	}
	return (uint64_t)(m >> 64);
}

/* Shuffle the n numbers of `a` in place (Fisher-Yates, from the end). */
void sfs_rng_shuffle(struct sfs_rng *r, uint32_t *a, size_t n);

#endif
