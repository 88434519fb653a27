/* SPDX-License-Identifier: MIT */
/* sequential - detects reads that continue where an earlier one ended.
 *
 * Several readers may read at a time, so the ends of the newest runs of reads are kept,
 * from whichever reader.  Not thread-safe.
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
	} runs[SFS_N_SEQUENTIAL];
	int next; /* to be replaced */
};

/* Note a read of n bytes at `offset` of an object.  Returns the bytes of the run of reads
 * that it continues, itself included: n, if it starts one.  A small gap does not
 * interrupt a run. */
uint64_t sfs_sequential_note(struct sfs_sequential *t, const void *of, uint64_t offset,
			     size_t n);

#endif
