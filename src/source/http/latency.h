/* SPDX-License-Identifier: MIT */
/* latency - response-time percentiles by size, used to detect late responses.
 *
 * The last 128 times of each size are kept, in sizes of powers of two; the second longest
 * of them is taken for the 99th percentile.  While only 8 to 63 are known, the longest is
 * taken for both percentiles.
 *
 * Pure.  Not thread-safe.
 */
#ifndef SFS_LATENCY_H
#define SFS_LATENCY_H

#include <stdint.h>

#define SFS_LATENCY_SIZES 12
#define SFS_LATENCY_TIMES 128

struct sfs_latency {
	struct {
		uint32_t ms[SFS_LATENCY_TIMES]; /* a ring */
		uint32_t n; /* ever; the next goes to n % SFS_LATENCY_TIMES */
		uint32_t late_ms, median_ms; /* when n was last a multiple of 8 */
	} sizes[SFS_LATENCY_SIZES];
};

/* A response of n_bytes took `ns`. */
void sfs_latency_add(struct sfs_latency *t, uint64_t n_bytes, uint64_t ns);

/* The 99th percentile and the median of responses of this size, in nanoseconds.  Where
 * fewer than 8 of a size are known, the next larger size counts; 0: none is known. */
uint64_t sfs_latency_late_ns(const struct sfs_latency *t, uint64_t n_bytes);
uint64_t sfs_latency_median_ns(const struct sfs_latency *t, uint64_t n_bytes);

#endif
