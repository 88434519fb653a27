/* SPDX-License-Identifier: MIT */
/* slice-buffer - the bytes of a slice that a lane holds: slabs, by their place in the
 * slice.  Or those of a chunk of single samples, by their place in the chunk.
 *
 * Slab i holds the bytes [start + i * SFS_SLAB_BYTES, ...) of the shard, from `start` to
 * `end`.  Parts are requested in order and arrive in any order.  A slab stays while a
 * sample needs it, or while some of its bytes are not assigned to samples yet.  Then it
 * goes back to the pool, and its bytes to the account that was charged for it.  A lane
 * that must hold less gives bytes up; the samples that need those are fetched
 * elsewhere.
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

struct sfs_slice_buffer_slab; /* see slice-buffer.c */

struct sfs_slice_buffer {
	struct sfs_shard *shard; /* the creator keeps it pinned; NULL: a chunk's buffer */
	struct sfs_slabs *slabs;
	struct sfs_account *account;

	uint64_t start, end; /* of the shard, bytes */
	uint64_t requested;  /* bytes below were requested or given up; whole slabs */
	uint64_t assigned;   /* all samples that begin below are known */
	uint64_t n_held;     /* slabs that are here or in flight */
	uint64_t held_end;   /* the highest byte that a sample ever needed, + 1 */
	uint64_t n_users;    /* holds minus releases, over all slabs */
	uint64_t n_missing;  /* slabs that were requested and did not come */

	/* The lane's own. */
	struct sfs_slice_buffer *next;
	uint32_t lane, m;     /* its slice */
	uint32_t n_in_flight; /* its parts */
	bool is_open;	      /* it still forms blocks from here */

	/* Private to slice-buffer.c: a ring of slabs from number `first` on. */
	uint64_t first;
	uint32_t n, head, capacity;
	struct sfs_slice_buffer_slab *ring;
};

/* Of the bytes of a sample. */
enum sfs_slice_buffer_state {
	SFS_SLICE_BUFFER_HERE,	   /* all in slabs */
	SFS_SLICE_BUFFER_EXPECTED, /* some are in flight, or not requested yet */
	SFS_SLICE_BUFFER_GONE,	   /* some were given up */
};

/* A buffer for the bytes from `start` to `end` of the shard; `account` pays for what it
 * holds. */
struct sfs_slice_buffer *sfs_slice_buffer_new(struct sfs_shard *shard,
					      struct sfs_slabs *slabs,
					      struct sfs_account *account, uint64_t start,
					      uint64_t end);

/* Give all slabs back and free the buffer.  No part may be in flight. */
void sfs_slice_buffer_free(struct sfs_slice_buffer *buffer);

/* The first byte of the slab that holds `offset`, or of the next one. */
uint64_t sfs_slice_buffer_round_up(const struct sfs_slice_buffer *buffer,
				   uint64_t offset);

/* No sample that it has to hold begins before `start`: unless something was requested or
 * held already, begin there. */
void sfs_slice_buffer_begin_at(struct sfs_slice_buffer *buffer, uint64_t start);

/* n_bytes from `offset` on (whole slabs, except at the buffer's end) are being requested;
 * the account was charged. */
void sfs_slice_buffer_expect(struct sfs_slice_buffer *buffer, uint64_t offset,
			     uint64_t n_bytes);

/* They came: takes the slabs, and gives those back that nobody needs any more. */
void sfs_slice_buffer_arrive(struct sfs_slice_buffer *buffer, uint64_t offset,
			     void *const *slabs, size_t n_slabs);

/* They did not come (the slabs are the caller's): they are missing now. */
void sfs_slice_buffer_fail(struct sfs_slice_buffer *buffer, uint64_t offset,
			   size_t n_slabs);

/* The first slabs that are missing from byte `from` on, at most `max_bytes` of them,
 * contiguous.  false: none are. */
bool sfs_slice_buffer_missing(const struct sfs_slice_buffer *buffer, uint64_t from,
			      uint64_t max_bytes, uint64_t *ret_offset,
			      uint64_t *ret_n_bytes);

/* Give up the bytes from `requested` to `offset`, rounded down to a whole slab. */
void sfs_slice_buffer_skip(struct sfs_slice_buffer *buffer, uint64_t offset);

/* Give up what of these bytes was not requested or did not come. */
void sfs_slice_buffer_give_up(struct sfs_slice_buffer *buffer, uint64_t start,
			      uint64_t n_bytes);

/* The contiguous bytes that are here at `offset`; NULL if there are none. */
unsigned char *sfs_slice_buffer_at(const struct sfs_slice_buffer *buffer, uint64_t offset,
				   size_t *ret_n);

enum sfs_slice_buffer_state sfs_slice_buffer_state(const struct sfs_slice_buffer *buffer,
						   uint64_t start, uint64_t n_bytes);

/* A sample needs these bytes; or does not need them any more. */
void sfs_slice_buffer_hold(struct sfs_slice_buffer *buffer, uint64_t start,
			   uint64_t n_bytes);
void sfs_slice_buffer_release(struct sfs_slice_buffer *buffer, uint64_t start,
			      uint64_t n_bytes);

/* How many of the bytes that are here or in flight samples need, or are not assigned yet.
 * The other bytes of the slabs are held because of these.  (A pass over all slabs: for
 * stats.) */
uint64_t sfs_slice_buffer_live_bytes(const struct sfs_slice_buffer *buffer);

/* Rewrite the headers of a sample, which is here, in place (sfs_rewrite_entry()).  < 0:
 * the entry at byte *ret_at of the sample cannot be rewritten, and `err` says why. */
int sfs_slice_buffer_rewrite(struct sfs_slice_buffer *buffer, uint64_t start,
			     uint64_t n_bytes, const char *folder, uint64_t *ret_at,
			     struct sfs_error *err);

/* Is a sample, which is here at `start`, what its table says?  It consists of whole
 * entries, and none is a member with another key.  0, or as
 * sfs_slice_buffer_rewrite(). */
int sfs_slice_buffer_check(const struct sfs_slice_buffer *buffer, uint64_t start,
			   const struct sfs_block_sample *sample, uint64_t *ret_at,
			   struct sfs_error *err);

/* All samples that begin below `offset` are known. */
void sfs_slice_buffer_assign(struct sfs_slice_buffer *buffer, uint64_t offset);

#endif
