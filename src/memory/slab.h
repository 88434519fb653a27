/* SPDX-License-Identifier: MIT */
/* slab - memory for data in flight, in pieces of one size.
 *
 * 128 KiB: larger slabs are pinned by a few long-lived samples, smaller ones cost more
 * per byte (bench/RESULTS.md).  Slabs come from one reserved range of addresses; the one
 * that was put back last is handed out first, because it is still in the CPU cache.  The
 * caller takes the bytes from the budget first (budget.h); the slabs never run out.
 *
 * Any thread may call.
 */
#ifndef SFS_SLAB_H
#define SFS_SLAB_H

#include <stddef.h>
#include <stdint.h>

#define SFS_SLAB_BYTES ((size_t)128 << 10)

static inline uint64_t sfs_slab_count(uint64_t n_bytes)
{
	return (n_bytes + SFS_SLAB_BYTES - 1) / SFS_SLAB_BYTES;
}

struct sfs_slabs;

/* Reserve addresses (not memory) for `capacity_bytes` of slabs. */
struct sfs_slabs *sfs_slabs_new(uint64_t capacity_bytes);
void sfs_slabs_free(struct sfs_slabs *slabs); /* all must be back; NULL is fine */

/* Take n slabs; their contents are undefined. */
void sfs_slabs_get(struct sfs_slabs *slabs, void **ret_slabs, size_t n);

/* Give n slabs back; NULL entries are skipped. */
void sfs_slabs_put(struct sfs_slabs *slabs, void *const *some, size_t n);

/* Give the memory of unused slabs, but for `keep_bytes`, back to the system. */
void sfs_slabs_trim(struct sfs_slabs *slabs, uint64_t keep_bytes);

/* Bytes in slabs that are handed out now. */
uint64_t sfs_slabs_used(struct sfs_slabs *slabs);

#endif
