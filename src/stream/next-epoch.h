/* SPDX-License-Identifier: MIT */
/* next-epoch - prefetches the start of the next epoch while readers get the end of the
 * one before.
 *
 * The next epoch is E + 1 of the same share, when E nears its end.  It is prefetched
 * always with next-epoch=yes; with auto, if E - 1 of that share was read to its end, too.
 * That begins when all streams that are read have enough, pauses while one has not, and
 * is given up when anybody waits for memory, or 30 s after the last reader of E has gone.
 * It reports no errors: whoever reads the epoch meets them.
 *
 * It never waits.  Its lock is taken inside a stream's lock; streams' locks are taken
 * inside its look_lock.
 */
#ifndef SFS_NEXT_EPOCH_H
#define SFS_NEXT_EPOCH_H

#include "base/threadpool.h"
#include "config/options.h"
#include "stream/stream.h"

#include <pthread.h>
#include <stdatomic.h>

#define SFS_N_READ_OUT 256

/* An epoch of a share. */
struct sfs_epoch_share {
	uint64_t epoch;
	struct sfs_share share; /* step is 0: none */
};

struct sfs_next_epoch {
	struct sfs_streams *streams;
	struct sfs_threadpool *pool;
	enum sfs_choice_next_epoch choice;
	struct sfs_task task;
	_Atomic bool is_watching; /* something is to be begun, or was begun */

	pthread_mutex_t look_lock; /* held while looking; guards the next two */
	struct sfs_link begun;	   /* and what is to be begun */
	bool is_stopped;

	pthread_mutex_t lock; /* guards the rest */
	struct sfs_link wanted;
	struct sfs_epoch_share read_out[SFS_N_READ_OUT];
	int next_slot;
};

/* Observe the streams, unless `choice` says no.  Everything stays borrowed until
 * sfs_next_epoch_done(). */
void sfs_next_epoch_init(struct sfs_next_epoch *next, struct sfs_streams *streams,
			 struct sfs_threadpool *pool, enum sfs_choice_next_epoch choice);

/* Let go of all streams, and begin none any more. */
void sfs_next_epoch_stop(struct sfs_next_epoch *next);

/* It must have been stopped, and nobody may call anything meanwhile. */
void sfs_next_epoch_done(struct sfs_next_epoch *next);

/* A reader has got the last sample of an epoch. */
void sfs_next_epoch_note(struct sfs_next_epoch *next, uint64_t epoch,
			 struct sfs_share share);

/* Is the epoch after this one likely to be read? */
bool sfs_next_epoch_is_likely(struct sfs_next_epoch *next, uint64_t epoch,
			      struct sfs_share share);

/* An epoch nears its end: all of it was requested.  Call it once for each time. */
void sfs_next_epoch_want(struct sfs_next_epoch *next, uint64_t epoch,
			 struct sfs_share share);

/* Something has changed, or a second has passed: look soon, on another thread, whether
 * anything is to be done. */
void sfs_next_epoch_look(struct sfs_next_epoch *next);

#endif
