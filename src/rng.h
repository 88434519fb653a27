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

/* Start the generator that the n words name; another word, another sequence. */
void sfs_rng_init(struct sfs_rng *r, const uint64_t *words, size_t n);

/* The next 64 bits. */
uint64_t sfs_rng_next(struct sfs_rng *r);

/* A number from 0 to n-1, each as likely; n > 0. */
uint64_t sfs_rng_below(struct sfs_rng *r, uint64_t n);

/* Shuffle the n numbers of `a` in place (Fisher-Yates, from the end). */
void sfs_rng_shuffle(struct sfs_rng *r, uint32_t *a, size_t n);

#endif
