/* SPDX-License-Identifier: MIT */
/* ring-held - the batches that trainers still hold of producers that died at this path,
 * while a new producer goes on.
 *
 * They are done when they are released, and not before.  When a trainer dies with one, the
 * new producer settles it, as the policy (ring-policy.h) says.  One thread calls all but those that say
 * "any thread".
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
	uint32_t hung_ms;		/* who holds one for longer is reported; 0: never */
	uint32_t interval_ms;		/* between two looks at who lives */

	pthread_mutex_t lock; /* guards: */
	struct held_ring *rings; /* the newest first */
	bool is_shown;	 /* the file at PATH.state is the new producer's */
	uint64_t looked_ns;
};

/* A batch whose trainer is dead. */
struct sfs_ring_lost {
	struct held_ring *ring;
	bool is_cut;	 /* no batch: the file was cut, and nobody knows what is held */
	bool is_untaken; /* of a ring that had ended, and whose trainers are all gone */
	uint32_t slot;
	int session; /* of the new producer's; < 0: none, so nobody can send it again */
	uint64_t number; /* in its session */
	uint64_t seq;	 /* in its ring */
	uint32_t consumer, pid;
};

void sfs_ring_held_init(struct sfs_ring_held *h, const char *path);

/* Go on with the sessions of the last producer in `memory`: each at the first batch that was
 * not taken.  From then on nobody can take one from it.  Returns how many trainers of it
 * want to go on; 0: there are none, or none is left to take over.  */
uint32_t sfs_ring_held_begin(struct sfs_ring_held *h, struct sfs_ring_memory *memory);

/* Call this to put the new producer's file in place of the last one's, by `rename`.  false:
 * errno is set.  Any thread. */
bool sfs_ring_held_show(struct sfs_ring_held *h, const char *from, const char *to);

/* Find one whose trainer died.  Reports hung ones, and forgets what was released. */
bool sfs_ring_held_find_lost(struct sfs_ring_held *h, struct sfs_ring_lost *ret);

/* It is settled: nobody gets it again; or it comes again, and its session goes on there. */
void sfs_ring_held_drop(struct sfs_ring_held *h, const struct sfs_ring_lost *lost);
void sfs_ring_held_miss(struct sfs_ring_held *h, const struct sfs_ring_lost *lost);

/* numbers[s], of n sessions: lower it to the first batch that is held. */
void sfs_ring_held_lower(struct sfs_ring_held *h, uint32_t n, uint64_t *numbers);

/* The first batch of this session, from `number` on, that is held; UINT64_MAX: none. */
uint64_t sfs_ring_held_next(struct sfs_ring_held *h, uint32_t session, uint64_t number);

/* Is anything held?  Any thread. */
bool sfs_ring_held_is_any(struct sfs_ring_held *h);

/* The files stay for a successor, unless it is over. */
void sfs_ring_held_done(struct sfs_ring_held *h, bool is_over);

#endif
