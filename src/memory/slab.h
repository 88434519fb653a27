/* SPDX-License-Identifier: MIT */
/* slab - memory for data in flight, in pieces of one size.
 *
 * 128 KiB: larger slabs are pinned by a few long-lived samples, smaller ones cost more
 * per byte (bench/RESULTS.md).  Slabs come from one reserved range of addresses; the lowest
 * that is free is handed out first, so what is in use stays together, and those above
 * can give back whole huge pages.  The caller takes the bytes from the budget first
 * (budget.h); the slabs never run out.
 *
 * Once they are shared, slabs come from a file in memory (memfd), which another process
 * can map to read what lies there.
 *
 * Any thread may call.
 */
#ifndef SFS_SLAB_H
#define SFS_SLAB_H

#include <stdbool.h>
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

/* Call it every few seconds: slabs that were free all the time since the last call, but for
 * 16 MiB, give their memory back.  So a stream that goes on as before keeps what it needs,
 * and what many readers needed for a while, or two epochs at once, does not stay. */
void sfs_slabs_settle(struct sfs_slabs *slabs);

/* Begin to fill slabs with memory before they are taken, in huge pages, on a thread of
 * their own; once, before the first is taken.  What is filled and not used never exceeds
 * what `budget` has left, at the time when it is filled.  The budget must outlive the
 * slabs. */
struct sfs_budget;
void sfs_slabs_fill(struct sfs_slabs *slabs, struct sfs_budget *budget);

/* Why slabs are not filled, in words that fit behind "huge pages are off: "; NULL: they
 * are. */
const char *sfs_slabs_refusal(struct sfs_slabs *slabs);

/* Bytes in slabs that are handed out now; in others that have memory; in both, and in what
 * is being filled; and of these, what is or will be filled. */
struct sfs_slabs_memory {
	uint64_t used_bytes, ready_bytes, held_bytes, filled_bytes;
};
struct sfs_slabs_memory sfs_slabs_memory(struct sfs_slabs *slabs);
uint64_t sfs_slabs_used(struct sfs_slabs *slabs);

/* A descriptor to map the shared slabs with, for reading, and how many bytes there are.
 * From the first call on all slabs that are handed out are shared.  The descriptor is the
 * caller's, close-on-exec, and its size is sealed.  -ENOTSUP: the environment has
 * SHUFFLEFS_SLABS=private, or a limit on the size of files; others: the system refuses.
 */
int sfs_slabs_share(struct sfs_slabs *slabs, int *ret_fd, uint64_t *ret_n_bytes);

/* Where do these n bytes lie in that file?  false: not in shared slabs. */
bool sfs_slabs_find(struct sfs_slabs *slabs, const void *bytes, size_t n,
		    uint64_t *ret_offset);

#endif
