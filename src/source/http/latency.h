/* SPDX-License-Identifier: MIT */
/* tail - how long answers of a size take, so that a late one can be told.
 *
 * The times of the last 128 of each size, in powers of two, are kept; the second longest
 * of these is the 99th percentile, as far as so few can tell.  While only 8 to 63 are
 * known, the longest of them stands for all that is asked.
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

/* An answer of n bytes took so long. */
void sfs_latency_add(struct sfs_latency *t, uint64_t n_bytes, uint64_t ns);

/* So long do all but one in a hundred take that are of this size, in nanoseconds; and
 * half of them (or, while few are known, all of them).  Where too few were seen of a
 * size, the next larger one counts; 0: none is known. */
uint64_t sfs_latency_late_ns(const struct sfs_latency *t, uint64_t n_bytes);
uint64_t sfs_latency_median_ns(const struct sfs_latency *t, uint64_t n_bytes);

#endif
