/* SPDX-License-Identifier: MIT */
/* holes - the samples of a cursor's log that no lane holds: fetched in pieces, as the
 * reader comes near.
 *
 * A sample larger than its lane may hold, or that a lane gave up for want of memory, is
 * appended as holes: entries whose bytes are still to come.  Those within a window
 * ahead of the readers are fetched; if a header must be edited, a walk finds what.
 *
 * Everything is called with the stream's lock held.  Nothing waits.
 */
#ifndef SFS_HOLES_H
#define SFS_HOLES_H

#include "blame.h"
#include "entries.h"
#include "env.h"
#include "gather.h"
#include "outbox.h"

struct sfs_holes_owner {
	void *ctx;
	/* Call sfs_holes_take() soon.  Called on any thread, with other locks held. */
	void (*wake)(void *ctx);
	/* There is no memory for this entry, which a reader waits for.  false: nothing
	 * was done about it; true: nobody waits for it any more. */
	bool (*lack)(void *ctx, const struct sfs_entry *e, struct sfs_outbox *out);
	/* The entry could not be fetched; only a reader who waits has it tried anew. */
	void (*failed)(void *ctx, const struct sfs_entry *e, int err,
		       struct sfs_outbox *out);
};

struct sfs_holes {
	struct sfs_env *env;
	struct sfs_account *account; /* pays for what is fetched */
	struct sfs_entries *entries;
	struct sfs_holes_owner owner;
	uint64_t next;	    /* no entry before waits to be fetched */
	uint64_t n_bytes;   /* of holes that are being fetched or here */
	uint32_t n_pending; /* grabs and walks that have not ended */

	pthread_mutex_t arrived_lock; /* guards the rest */
	struct sfs_link arrived, arrived_edits;
};

void sfs_holes_init(struct sfs_holes *h, struct sfs_env *env, struct sfs_account *account,
		    struct sfs_entries *entries, const struct sfs_holes_owner *owner);
void sfs_holes_done(struct sfs_holes *h); /* n_pending must be 0, all holes dropped */

/* How far ahead of the readers bytes are fetched. */
uint64_t sfs_holes_window(const struct sfs_holes *h);

/* Append a sample to the log, as holes. */
void sfs_holes_append(struct sfs_holes *h, uint32_t lane,
		      const struct sfs_block_sample *s, bool is_renamed);

/* The entry of this hole goes. */
void sfs_holes_drop(struct sfs_holes *h, struct sfs_hole *hole);

/* Begin to fetch what readers wait for (`waiting`: reads), and what lies ahead of
 * `front`, the highest byte answered. */
void sfs_holes_start(struct sfs_holes *h, const struct sfs_link *waiting, uint64_t front,
		     struct sfs_outbox *out);

/* Take account of what has ended. */
void sfs_holes_take(struct sfs_holes *h, struct sfs_outbox *out);

bool sfs_hole_is_here(const struct sfs_hole *hole);

/* Whom does a read wait for that needs this hole, which is not here?  If for the NETWORK,
 * since *ret_since_ns. */
enum sfs_blame sfs_hole_blame(const struct sfs_hole *hole, uint64_t *ret_since_ns);

/* What does such a read wait for? */
void sfs_hole_explain(const struct sfs_hole *hole, struct sfs_cause *cause);

/* The bytes of a hole that is here, `at` bytes from its start: *ret_n in one piece. */
unsigned char *sfs_hole_at(const struct sfs_hole *hole, uint64_t at, size_t *ret_n);

/* Have n bytes at `at` of the hole gathered, which need not be here. */
void sfs_hole_gather(const struct sfs_hole *hole, uint64_t at, uint64_t n,
		     struct sfs_gather *gather);

#endif
