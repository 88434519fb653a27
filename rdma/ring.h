/* SPDX-License-Identifier: MIT */
/* ring - the producer's side of a ring of batches in shared memory (shufflefs/ring.h).
 *
 * The producer makes the memory, listens on a UNIX socket, and gives it to each
 * consumer that attaches.  A thread of its own accepts consumers and notices their death.
 * One thread takes slots and publishes; others may ask.  ring-memory.h says what lies in
 * the memfd, and why no crash of a consumer breaks it.
 */
#ifndef SFS_RING_H
#define SFS_RING_H

#include "layout.h"
#include "ring-past.h"

#include "base/error.h"
#include "base/json-writer.h"

#include <stdbool.h>
#include <stdint.h>

struct sfs_ring_settings {
	const char *path; /* of the socket; one that nobody listens on is replaced */
	uint32_t n_slots; /* 2 to 64 */
	enum sfs_ring_policy policy;
	uint32_t await_ms; /* consumers of a producer that died are waited for so long */
	uint32_t hung_ms;  /* a consumer that holds a batch for longer is reported; 0:
			      never */
};

struct sfs_ring;

/* The policy of this name; NULL: fail.  -EINVAL, with an error. */
int sfs_ring_find_policy(const char *name, enum sfs_ring_policy *ret,
			 struct sfs_error *err);

/* If a producer died at this path, and consumers of it live, sessions go on after what
 * those have taken.  -EADDRINUSE: another producer lives at `path`; others: with an
 * error. */
int sfs_ring_new(const struct sfs_ring_settings *settings,
		 const struct shufflefs_layout *layout, struct sfs_ring **ret_ring,
		 struct sfs_error *err);

/* Consumers that are attached get -EPIPE, unless the ring has ended. */
void sfs_ring_free(struct sfs_ring *ring); /* NULL is fine */

/* The next slot, slot_bytes, aligned to 4096.  Waits until it is free.  -ETIMEDOUT: it
 * is not; *err says who holds it, if one hangs.  -EIO: a consumer died, and the policy is
 * to fail. */
int sfs_ring_take(struct sfs_ring *ring, int timeout_ms, void **ret_slot,
		  struct sfs_error *err);

/* A slot that was taken is filled: the one at batch->data, or, if that is NULL, the one
 * taken last.  Several may be taken at a time; their order is that of publish().
 * `batch->seq` is ignored.  Returns the batch's number in the ring. */
uint64_t sfs_ring_publish(struct sfs_ring *ring, const struct shufflefs_batch *batch);

/* A session is a stream of batches; its number is what its batches have as `sender`.
 * Finds the one of this id, or adds it.  -ENOSPC, with an error: there are too many. */
int sfs_ring_session(struct sfs_ring *ring, uint64_t id, struct sfs_error *err);

struct sfs_ring_past {
	uint64_t id;
	uint64_t
		n; /* the first batch that is not in the ring, and was not taken before */
	bool has_ended;
};
/* Session `number` as it is now.  false: there is none. */
bool sfs_ring_look_at_session(struct sfs_ring *ring, uint32_t number,
			      struct sfs_ring_past *ret);
/* Its first batch is number `n`. */
void sfs_ring_begin_session(struct sfs_ring *ring, uint32_t number, uint64_t n);
void sfs_ring_end_session(struct sfs_ring *ring, uint32_t number);

/* Consumers of a producer that died have not attached here yet. */
bool sfs_ring_is_awaited(struct sfs_ring *ring);

/* There will be no more batches; or: the producer has failed, and why. */
void sfs_ring_end(struct sfs_ring *ring);
void sfs_ring_fail(struct sfs_ring *ring, const char *why);

/* Every batch below this number was released (or dropped). */
uint64_t sfs_ring_consumed(struct sfs_ring *ring);

/* Wait until sfs_ring_consumed() is more than `seq`.  0, -ETIMEDOUT, -EIO: as take. */
int sfs_ring_wait_consumed(struct sfs_ring *ring, uint64_t seq, int timeout_ms,
			   struct sfs_error *err);

/* For how long no consumer has been attached; 0: one is. */
uint64_t sfs_ring_alone_ms(struct sfs_ring *ring);

struct sfs_ring_progress {
	uint64_t n_batches, n_samples, n_bytes; /* published */
	uint64_t next;	    /* ordinal after the last batch, in its stream */
	uint64_t waited_ns; /* for consumers */
};
void sfs_ring_look(struct sfs_ring *ring, struct sfs_ring_progress *ret);

/* Members of a JSON object: consumers, batches filled, taken, released, dropped,
 * redelivered, and how long the producer has waited for consumers. */
void sfs_ring_describe(struct sfs_ring *ring, struct sfs_json_writer *json);

#endif
