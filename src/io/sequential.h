/* SPDX-License-Identifier: MIT */
/* trails - which reads go on where an earlier one ended.
 *
 * Several readers may be on their ways at a time; the ends of the newest reads are
 * remembered, whoever they came from.  Not thread-safe.
 */
#ifndef SFS_SEQUENTIAL_H
#define SFS_SEQUENTIAL_H

#include <stddef.h>
#include <stdint.h>

#define SFS_N_SEQUENTIAL 64

struct sfs_sequential {
	struct {
		const void *of;
		uint64_t end, n_bytes;
	} trails[SFS_N_SEQUENTIAL];
	int next; /* to be forgotten */
};

/* Note a read of n bytes at `offset` of some object, and return how many bytes the row
 * has that it ends: n, if it begins one.  A small gap does not interrupt a row. */
uint64_t sfs_sequential_note(struct sfs_sequential *t, const void *of, uint64_t offset,
			     size_t n);

#endif
