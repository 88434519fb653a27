/* SPDX-License-Identifier: MIT */
/* ring-state - what the producer of a ring shares: the memory that its consumers map, and
 * the file beside the socket that says to a successor what they hold.
 *
 * Its lock is held by whoever changes the phase, or what ring-socket and ring-watch have.
 */
#ifndef SFS_RING_STATE_H
#define SFS_RING_STATE_H

#include "ring/ring-held.h"
#include "ring/ring-memory.h"

#include "base/error.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct sfs_ring_state {
	const char *path; /* of the ring; borrowed */
	uint32_t n_slots;
	struct sfs_ring_memory *memory; /* NULL: there is none yet */
	uint64_t n_bytes, stride;	/* of all of it, and from slot to slot */
	int fd, memfd;			/* of the file, and of the slots; < 0: none */
	bool is_shown;			/* the file at sfs_ring_state_path() is ours */
	bool is_over;			/* no successor needs it */
	uint32_t n_awaited;		/* consumers of a predecessor */
	struct sfs_ring_held held;	/* what those hold */
	pthread_mutex_t lock;
};

void sfs_ring_state_init(struct sfs_ring_state *s, const char *path, uint32_t n_slots);

/* Make the memory, and the file under another name.  With an error. */
int sfs_ring_state_make(struct sfs_ring_state *s, const struct shufflefs_layout *layout,
			struct sfs_error *err);

/* Take over what a predecessor has left that was killed; show the file, if there is none.
 * With an error. */
int sfs_ring_state_begin(struct sfs_ring_state *s, struct sfs_error *err);

/* A consumer has attached: put the file where a successor looks.  false: errno is set. */
bool sfs_ring_state_show(struct sfs_ring_state *s);

/* Remove the file, unless it is what a successor needs: consumers have attached, and the
 * ring has not ended. */
void sfs_ring_state_remove(struct sfs_ring_state *s, bool has_attached);

void sfs_ring_state_close(struct sfs_ring_state *s);

/* Slot i on the host. */
void *sfs_ring_state_slot(struct sfs_ring_state *s, uint32_t i);

/* With the lock.  Trainers get the first failure; later ones are ignored. */
void sfs_ring_state_fail(struct sfs_ring_state *s, enum sfs_ring_phase phase,
			 const char *why);

/* -EIO, with an error: the ring has failed. */
int sfs_ring_state_check(const struct sfs_ring_state *s, struct sfs_error *err);

/* Wake all that wait, on both sides, to look again. */
void sfs_ring_state_wake(struct sfs_ring_state *s);

#endif
