/* SPDX-License-Identifier: MIT */
/* tail - how long answers of a size take, so that a late one can be told.
 *
 * The times of the last 128 of each size, in powers of two, are kept; the second longest
 * of these is the 99th percentile, as far as so few can tell.  While only 8 to 63 are
 * known, the longest of them stands for all that is asked.
 *
 * Pure.  Not thread-safe.
 */
#ifndef SFS_TAIL_H
#define SFS_TAIL_H

#include <stdint.h>

#define SFS_TAIL_SIZES 12
#define SFS_TAIL_TIMES 128

struct sfs_tail {
	struct {
		uint32_t ms[SFS_TAIL_TIMES]; /* a ring */
		uint32_t n; /* ever; the next goes to n % SFS_TAIL_TIMES */
		uint32_t late_ms, median_ms; /* when n was last a multiple of 8 */
	} sizes[SFS_TAIL_SIZES];
};

/* An answer of n bytes took so long. */
void sfs_tail_add(struct sfs_tail *t, uint64_t n_bytes, uint64_t ns);

/* So long do all but one in a hundred take that are of this size, in nanoseconds; and
 * half of them (or, while few are known, all of them).  Where too few were seen of a
 * size, the next larger one counts; 0: none is known. */
uint64_t sfs_tail_late_ns(const struct sfs_tail *t, uint64_t n_bytes);
uint64_t sfs_tail_median_ns(const struct sfs_tail *t, uint64_t n_bytes);

#endif
