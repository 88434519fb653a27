/* SPDX-License-Identifier: MIT */
/* buffer - a slice's bytes as a lane holds them: slabs, by their place in the slice.
 *
 * Slab i holds the bytes [start + i * SFS_SLAB_BYTES, ...) of the shard, which the buffer
 * has from `start` to `end`.  Parts are requested for in order and arrive in any.  A slab
 * stays as long as a sample that needs it does, or its bytes have not been assigned to
 * samples yet; then it goes back to the pool, and its bytes to the account that was
 * charged for it.  A lane that must not hold so much gives bytes up; samples that need
 * those are fetched otherwise.
 *
 * Not thread-safe: the stream's lock guards it.
 */
#ifndef SFS_SLICE_BUFFER_H
#define SFS_SLICE_BUFFER_H

#include "base/error.h"
#include "catalog/shard.h"
#include "memory/budget.h"
#include "memory/slab.h"
#include "order/block.h"

#include <stdbool.h>
#include <stdint.h>

struct sfs_slice_buffer_slab; /* see buffer.c */

struct sfs_slice_buffer {
	struct sfs_shard *shard; /* who makes the buffer keeps it pinned */
	struct sfs_slabs *slabs;
	struct sfs_account *account;

	uint64_t start, end; /* of the shard, bytes */
	uint64_t requested;  /* bytes below were requested for or given up; whole slabs */
	uint64_t assigned;   /* no sample will begin below */
	uint64_t n_held;     /* slabs that are here or on their way */
	uint64_t held_end;   /* the highest byte that a sample ever counted on */
	uint64_t n_users;    /* holds minus releases, over all slabs */
	uint64_t n_missing;  /* slabs that were requested for and did not come */

	/* The lane's own. */
	struct sfs_slice_buffer *next;
	uint32_t m;	      /* its slice */
	uint32_t n_in_flight; /* its parts */
	bool is_open;	      /* it still forms blocks from here */

	/* Of buffer.c: a ring of slabs from number `first` on. */
	uint64_t first;
	uint32_t n, head, capacity;
	struct sfs_slice_buffer_slab *ring;
};

/* What may a sample expect of its bytes? */
enum sfs_slice_buffer_state {
	SFS_SLICE_BUFFER_HERE,	   /* all in slabs */
	SFS_SLICE_BUFFER_EXPECTED, /* some are on their way, or not requested for yet */
	SFS_SLICE_BUFFER_GONE,	   /* some were given up */
};

/* Of the bytes from `start` to `end` of the shard. */
struct sfs_slice_buffer *sfs_slice_buffer_new(struct sfs_shard *shard,
					      struct sfs_slabs *slabs,
					      struct sfs_account *account, uint64_t start,
					      uint64_t end);

/* Give all slabs back and free the buffer.  No part may be on its way. */
void sfs_slice_buffer_free(struct sfs_slice_buffer *buffer);

/* The first byte of the slab that holds `offset`, or of the one behind it. */
uint64_t sfs_slice_buffer_round_up(const struct sfs_slice_buffer *buffer,
				   uint64_t offset);

/* The next n_bytes from `offset` on (whole slabs, but at the buffer's end) are being
 * requested for; the account was charged. */
void sfs_slice_buffer_expect(struct sfs_slice_buffer *buffer, uint64_t offset,
			     uint64_t n_bytes);

/* They came: takes the slabs, and gives those back that nobody needs any more. */
void sfs_slice_buffer_arrive(struct sfs_slice_buffer *buffer, uint64_t offset,
			     void *const *slabs, size_t n_slabs);

/* They did not come (the slabs are the caller's): they are missing now. */
void sfs_slice_buffer_fail(struct sfs_slice_buffer *buffer, uint64_t offset,
			   size_t n_slabs);

/* The first slabs that are missing from byte `from` on, in one piece of at most
 * `max_bytes`.  false: none are. */
bool sfs_slice_buffer_missing(const struct sfs_slice_buffer *buffer, uint64_t from,
			      uint64_t max_bytes, uint64_t *ret_offset,
			      uint64_t *ret_n_bytes);

/* Give up the bytes from `requested` to `offset`, rounded down to a whole slab. */
void sfs_slice_buffer_skip(struct sfs_slice_buffer *buffer, uint64_t offset);

/* Give up what of these bytes was not requested for or did not come. */
void sfs_slice_buffer_give_up(struct sfs_slice_buffer *buffer, uint64_t start,
			      uint64_t n_bytes);

/* The bytes that are here in one piece at `offset`; NULL if none. */
unsigned char *sfs_slice_buffer_at(const struct sfs_slice_buffer *buffer, uint64_t offset,
				   size_t *ret_n);

enum sfs_slice_buffer_state sfs_slice_buffer_state(const struct sfs_slice_buffer *buffer,
						   uint64_t start, uint64_t n_bytes);

/* A sample counts on these bytes, or needs them no more. */
void sfs_slice_buffer_hold(struct sfs_slice_buffer *buffer, uint64_t start,
			   uint64_t n_bytes);
void sfs_slice_buffer_release(struct sfs_slice_buffer *buffer, uint64_t start,
			      uint64_t n_bytes);

/* Of the bytes that are here or on their way, those that samples count on, or that have
 * not been assigned yet.  What the slabs hold beyond is pinned by them.  (A pass over the
 * slabs: for stats.) */
uint64_t sfs_slice_buffer_live_bytes(const struct sfs_slice_buffer *buffer);

/* Edit the headers of a sample, which is here, where they lie (sfs_rewrite_entry()).
 * < 0: the group at byte *ret_at of the shard cannot be, and `err` says why. */
int sfs_slice_buffer_rewrite(struct sfs_slice_buffer *buffer, uint64_t start,
			     uint64_t n_bytes, const char *folder, uint64_t *ret_at,
			     struct sfs_error *err);

/* Is a sample, which is here, what its table says?  Whole header groups, to its end, and
 * no member of another key.  0, or as sfs_slice_buffer_rewrite(). */
int sfs_slice_buffer_check(const struct sfs_slice_buffer *buffer,
			   const struct sfs_block_sample *sample, uint64_t *ret_at,
			   struct sfs_error *err);

/* No sample will begin below `offset`. */
void sfs_slice_buffer_assign(struct sfs_slice_buffer *buffer, uint64_t offset);

#endif
