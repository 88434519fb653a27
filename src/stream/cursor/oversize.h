/* SPDX-License-Identifier: MIT */
/* oversize - samples that no lane holds: fetched in pieces, as the reader comes near.
 *
 * A sample that is larger than its lane may hold, or that a lane gave up for lack of
 * memory, is appended to the extents in pieces whose bytes come later.  Pieces within a
 * window ahead of the readers are fetched; if headers change, a header patch says how.
 *
 * The stream's lock is held in all calls.  Nothing waits.
 */
#ifndef SFS_OVERSIZE_H
#define SFS_OVERSIZE_H

#include "base/deferred.h"
#include "base/waits.h"
#include "io/gather.h"
#include "io/runtime.h"
#include "stream/cursor/extent-map.h"

struct sfs_oversize_owner {
	void *ctx;
	/* Call sfs_oversize_take() soon.  On any thread, with other locks held. */
	void (*wake)(void *ctx);
	/* There is no memory for this extent, which a reader waits for.  true: nobody
	 * waits for it any more.  false: they still do. */
	bool (*no_memory)(void *ctx, const struct sfs_mapped_extent *e,
			  struct sfs_deferred *out);
	/* The extent could not be fetched: reads that wait for it fail.  It is fetched
	 * again only when another read waits for it. */
	void (*failed)(void *ctx, const struct sfs_mapped_extent *e, int err,
		       struct sfs_deferred *out);
};

struct sfs_oversize {
	struct sfs_runtime *runtime;
	struct sfs_account *account; /* pays for what is fetched */
	struct sfs_extent_map *extents;
	struct sfs_oversize_owner owner;
	uint64_t next;	    /* no extent before it waits to be fetched */
	uint64_t n_bytes;   /* of pieces that are here or being fetched */
	uint32_t n_pending; /* ranges and header patches that have not ended */

	pthread_mutex_t arrived_lock; /* guards the rest */
	struct sfs_link arrived, arrived_patches;
};

void sfs_oversize_init(struct sfs_oversize *o, struct sfs_runtime *runtime,
		       struct sfs_account *account, struct sfs_extent_map *extents,
		       const struct sfs_oversize_owner *owner);
void sfs_oversize_done(
	struct sfs_oversize *o); /* n_pending must be 0, all pieces dropped */

/* How far ahead of the readers pieces are fetched, in bytes. */
uint64_t sfs_oversize_window(const struct sfs_oversize *o);

/* Append a sample to the extents, in pieces. */
void sfs_oversize_append(struct sfs_oversize *o, const struct sfs_block_sample *s,
			 bool is_renamed);

/* The extent of this piece goes. */
void sfs_oversize_drop(struct sfs_oversize *o, struct sfs_oversize_piece *piece);

/* Fetch what the reads in `waiting` need, and what lies ahead of `front`, the highest
 * byte that was answered. */
void sfs_oversize_start(struct sfs_oversize *o, const struct sfs_link *waiting,
			uint64_t front, struct sfs_deferred *out);

/* Take what has ended. */
void sfs_oversize_take(struct sfs_oversize *o, struct sfs_deferred *out);

bool sfs_oversize_piece_is_here(const struct sfs_oversize_piece *piece);

/* What does a read wait for that needs this piece, which is not here?  If for the
 * NETWORK, since *ret_since_ns. */
enum sfs_wait sfs_oversize_piece_wait(const struct sfs_oversize_piece *piece,
				      uint64_t *ret_since_ns);

/* The same, with the shard and the byte. */
void sfs_oversize_piece_explain(const struct sfs_oversize_piece *piece,
				struct sfs_cause *cause);

/* The bytes of a piece that is here, `at` bytes from its start; *ret_n of them are
 * contiguous. */
unsigned char *sfs_oversize_piece_at(const struct sfs_oversize_piece *piece, uint64_t at,
				     size_t *ret_n);

/* Have n bytes of the piece gathered, from `at` on; it need not be here. */
void sfs_oversize_piece_gather(const struct sfs_oversize_piece *piece, uint64_t at,
			       uint64_t n, struct sfs_gather *gather);

#endif
