/* SPDX-License-Identifier: MIT */
/* ring-held - the batches that trainers still hold, of producers that died at this path.
 *
 * Such a batch is done when its trainer releases it, and not before.  If the trainer dies
 * first, the batch is lost, and the new producer drops it or sends it again, as the policy
 * (ring-policy.h) says.  One thread calls all functions but those that say "any thread".
 */
#ifndef SFS_RING_HELD_H
#define SFS_RING_HELD_H

#include "ring/ring-memory.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct sfs_ring_held {
	const char *path;		/* of the ring; borrowed */
	struct sfs_ring_memory *memory; /* of the new producer */
	uint32_t hung_ms; /* a trainer that holds a batch for longer is reported; 0: never */
	uint32_t interval_ms; /* between two searches for dead trainers */

	pthread_mutex_t lock; /* guards: */
	struct held_ring *rings; /* of dead producers, the newest first */
	bool is_shown;		 /* the file at PATH.state is the new producer's */
	uint64_t looked_ns;	 /* when the last search found nobody */
};

/* A batch whose trainer is dead. */
struct sfs_ring_lost {
	struct held_ring *ring;
	bool is_cut; /* not a batch: the ring's file was truncated, so what is held is unknown */
	bool is_untaken; /* no trainer took it before the last one of an ended ring left */
	uint32_t slot;
	int session; /* the new producer's; < 0: it has none, so nobody can send it again */
	uint64_t number;	/* of the batch in its session */
	uint64_t seq;		/* of the batch in its ring */
	uint32_t consumer, pid; /* of the trainer */
};

void sfs_ring_held_init(struct sfs_ring_held *h, const char *path);

/* Continue the sessions of the last producer in `memory`, each from its first batch that no
 * trainer took.  No trainer can take a batch from the last producer afterwards.  Returns how
 * many of its trainers are alive and will attach again; 0: none. */
uint32_t sfs_ring_held_begin(struct sfs_ring_held *h, struct sfs_ring_memory *memory);

/* Rename the new producer's file `from` to `to`, in place of the last producer's.  false:
 * errno is set.  Any thread. */
bool sfs_ring_held_show(struct sfs_ring_held *h, const char *from, const char *to);

/* Find a batch whose trainer died.  Also reports trainers that hang, and removes the files of
 * rings of which all is released. */
bool sfs_ring_held_find_lost(struct sfs_ring_held *h, struct sfs_ring_lost *ret);

/* Settle a lost batch.  drop: nobody gets it again.  miss: it has to be sent again, and its
 * session continues from there. */
void sfs_ring_held_drop(struct sfs_ring_held *h, const struct sfs_ring_lost *lost);
void sfs_ring_held_miss(struct sfs_ring_held *h, const struct sfs_ring_lost *lost);

/* For each of n sessions: lower numbers[s] to the session's first batch that a trainer
 * holds, if that is lower. */
void sfs_ring_held_lower(struct sfs_ring_held *h, uint32_t n, uint64_t *numbers);

/* The session's first batch from `number` on that a trainer holds; UINT64_MAX: none. */
uint64_t sfs_ring_held_next(struct sfs_ring_held *h, uint32_t session, uint64_t number);

/* Does a trainer hold any batch?  Any thread. */
bool sfs_ring_held_is_any(struct sfs_ring_held *h);

/* Close.  The files stay for the next producer, unless the stream is over. */
void sfs_ring_held_done(struct sfs_ring_held *h, bool is_over);

#endif
