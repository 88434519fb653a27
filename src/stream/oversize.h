/* SPDX-License-Identifier: MIT */
/* oversize - the samples of a cursor's log that no lane holds: fetched in pieces, as the
 * reader comes near.
 *
 * A sample larger than its lane may hold, or that a lane gave up for want of memory, is
 * appended as oversize: extents whose bytes are still to come.  Those within a window
 * ahead of the readers are fetched; if a header must be edited, a walk finds what.
 *
 * Everything is called with the stream's lock held.  Nothing waits.
 */
#ifndef SFS_OVERSIZE_H
#define SFS_OVERSIZE_H

#include "base/deferred.h"
#include "base/waits.h"
#include "io/gather.h"
#include "io/runtime.h"
#include "stream/extent-map.h"

struct sfs_oversize_owner {
	void *ctx;
	/* Call sfs_oversize_take() soon.  Called on any thread, with other locks held. */
	void (*wake)(void *ctx);
	/* There is no memory for this entry, which a reader waits for.  false: nothing
	 * was done about it; true: nobody waits for it any more. */
	bool (*no_memory)(void *ctx, const struct sfs_mapped_extent *e,
			  struct sfs_deferred *out);
	/* The entry could not be fetched; only a reader who waits has it tried anew. */
	void (*failed)(void *ctx, const struct sfs_mapped_extent *e, int err,
		       struct sfs_deferred *out);
};

struct sfs_oversize {
	struct sfs_runtime *runtime;
	struct sfs_account *account; /* pays for what is fetched */
	struct sfs_extent_map *extents;
	struct sfs_oversize_owner owner;
	uint64_t next;	    /* no entry before waits to be fetched */
	uint64_t n_bytes;   /* of oversize that are being fetched or here */
	uint32_t n_pending; /* grabs and walks that have not ended */

	pthread_mutex_t arrived_lock; /* guards the rest */
	struct sfs_link arrived, arrived_patches;
};

void sfs_oversize_init(struct sfs_oversize *o, struct sfs_runtime *runtime,
		       struct sfs_account *account, struct sfs_extent_map *extents,
		       const struct sfs_oversize_owner *owner);
void sfs_oversize_done(
	struct sfs_oversize *o); /* n_pending must be 0, all oversize dropped */

/* How far ahead of the readers bytes are fetched. */
uint64_t sfs_oversize_window(const struct sfs_oversize *o);

/* Append a sample to the log, as oversize. */
void sfs_oversize_append(struct sfs_oversize *o, uint32_t lane,
			 const struct sfs_block_sample *s, bool is_renamed);

/* The entry of this piece goes. */
void sfs_oversize_drop(struct sfs_oversize *o, struct sfs_oversize_piece *piece);

/* Begin to fetch what readers wait for (`waiting`: reads), and what lies ahead of
 * `front`, the highest byte answered. */
void sfs_oversize_start(struct sfs_oversize *o, const struct sfs_link *waiting,
			uint64_t front, struct sfs_deferred *out);

/* Take account of what has ended. */
void sfs_oversize_take(struct sfs_oversize *o, struct sfs_deferred *out);

bool sfs_oversize_piece_is_here(const struct sfs_oversize_piece *piece);

/* Whom does a read wait for that needs this piece, which is not here?  If for the
 * NETWORK, since *ret_since_ns. */
enum sfs_wait sfs_oversize_piece_wait(const struct sfs_oversize_piece *piece,
				      uint64_t *ret_since_ns);

/* What does such a read wait for? */
void sfs_oversize_piece_explain(const struct sfs_oversize_piece *piece,
				struct sfs_cause *cause);

/* The bytes of a piece that is here, `at` bytes from its start: *ret_n in one piece. */
unsigned char *sfs_oversize_piece_at(const struct sfs_oversize_piece *piece, uint64_t at,
				     size_t *ret_n);

/* Have n bytes at `at` of the piece gathered, which need not be here. */
void sfs_oversize_piece_gather(const struct sfs_oversize_piece *piece, uint64_t at,
			       uint64_t n, struct sfs_gather *gather);

#endif
