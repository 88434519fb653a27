/* SPDX-License-Identifier: MIT */
/* ring - the producer's side of a ring of batches (shufflefs/ring.h) in shared memory, or
 * in a GPU's (device.h).
 *
 * The producer makes the memory, listens on a UNIX socket, and gives it to each
 * consumer that attaches.  A thread of its own accepts consumers and notices their death.
 * One thread takes slots and publishes; others may ask.  ring-memory.h says what lies in
 * the memfd, and why no crash of a consumer breaks it.
 */
#ifndef SFS_RING_H
#define SFS_RING_H

#include "ring/device.h"
#include "ring/layout.h"
#include "ring/ring-past.h"
#include "ring/ring-policy.h"

#include "base/error.h"
#include "base/json-writer.h"

#include <stdbool.h>
#include <stdint.h>

enum sfs_ring_placement {		   /* how batches come into a GPU's memory */
			  SFS_RING_STAGED, /* copied from staging on the host */
			  SFS_RING_AUTO,   /* a network card writes them, if it can */
			  SFS_RING_DIRECT  /* so, or not at all */
};

struct sfs_ring_settings {
	const char *path;   /* of the socket; one that nobody listens on is replaced */

	/* Of the slots: NULL, "host", "cuda", "cuda:UUID", "cuda:N", "cuda-fd", ... */
	const char *memory;

	/* If not STAGED, who fills it calls sfs_ring_stage() before it publishes what is to
	 * be copied. */
	enum sfs_ring_placement placement;
	uint32_t n_slots; /* 2 to 64 */
	enum sfs_ring_policy policy;
	uint32_t await_ms; /* consumers of a producer that died are waited for this long */
	uint32_t hung_ms;  /* who holds a batch for longer is reported; 0: never */
};

struct sfs_ring;

/* If a producer died at this path, and consumers of it live, sessions go on after what
 * those have taken.  -EADDRINUSE: another producer lives at `path`; others: with an
 * error. */
int sfs_ring_new(const struct sfs_ring_settings *settings,
		 const struct shufflefs_layout *layout, struct sfs_ring **ret_ring,
		 struct sfs_error *err);

/* Consumers that are attached get -EPIPE, unless the ring has ended.  A GPU's
 * memory is theirs until they detach: waits for that, at most 2 s, if the ring has
 * ended or failed. */
void sfs_ring_free(struct sfs_ring *ring); /* NULL is fine */

/* The next slot, slot_bytes, aligned to 4096; of a ring in a GPU's memory, a slot of the
 * host that publish() copies from.  Waits until it is free.  -ETIMEDOUT: it
 * is not; *err says who holds it, if one hangs.  -EIO: a consumer died, and the policy is
 * to fail. */
int sfs_ring_take(struct sfs_ring *ring, int timeout_ms, void **ret_slot,
		  struct sfs_error *err);

/* A slot that was taken is filled: the one at batch->data, or, if that is NULL, the one
 * taken last.  If the address is the slot's in the GPU's memory, a network card has
 * written it.  Several may be taken at a time; their order is that of publish().
 * `batch->seq` is ignored.  Returns the batch's number in the ring.  In a GPU's memory
 * consumers get it when it has arrived there; if it does not arrive, the ring has failed.
 */
uint64_t sfs_ring_publish(struct sfs_ring *ring, const struct shufflefs_batch *batch);

/* A session is a stream of batches; its number is what its batches have as `sender`.
 * Finds the one of this id, or adds it.  -ENOSPC, with an error: there are too many. */
int sfs_ring_session(struct sfs_ring *ring, uint64_t id, struct sfs_error *err);

struct sfs_ring_past {
	uint64_t id;
	uint64_t n;   /* the first batch that is not in the ring, and was not taken before */
	uint64_t had; /* bit i: n + i was taken before */
	bool has_ended;
};
#define SFS_RING_PAST_MAX 64
/* Session `number` as it is now.  false: there is none. */
bool sfs_ring_look_at_session(struct sfs_ring *ring, uint32_t number,
			      struct sfs_ring_past *ret);
/* Forget session `number`, of which no batch ever came, for that of this id. */
void sfs_ring_replace_session(struct sfs_ring *ring, uint32_t number, uint64_t id);
/* Batch `number` of this session was taken before, or is in the ring. */
static inline bool sfs_ring_past_has(const struct sfs_ring_past *past, uint64_t number)
{
	return number < past->n ||
	       (number - past->n < 64 && past->had >> (number - past->n) & 1);
}
/* Its next batch is number `n`: it begins there, or one that was taken
 * before is left out. */
void sfs_ring_begin_session(struct sfs_ring *ring, uint32_t number, uint64_t n);
void sfs_ring_end_session(struct sfs_ring *ring, uint32_t number);

/* Of n sessions: all batches below ret_numbers[s] were released (or dropped), here and by
 * trainers of producers that died. */
void sfs_ring_released(struct sfs_ring *ring, uint32_t n, uint64_t *ret_numbers);

/* Has a trainer died with a batch of a producer that died before?  Applies the policy.  If
 * it is to redeliver, that is this batch of this session: its sender brings it again.  Its session
 * goes on there from now on; what came behind it is `had`.  Ask until false, again and again.
 * (If nobody can bring it, the ring fails.) */
bool sfs_ring_next_lost(struct sfs_ring *ring, uint32_t *ret_session,
			uint64_t *ret_number);

/* The first batch of this session, from `number` on, that a trainer holds of a producer that
 * died; UINT64_MAX: there is none. */
uint64_t sfs_ring_next_held(struct sfs_ring *ring, uint32_t session, uint64_t number);

/* Trainers hold batches of producers that died.  Any thread. */
bool sfs_ring_has_held(struct sfs_ring *ring);

/* Consumers of a producer that died have not attached here yet. */
bool sfs_ring_is_awaited(struct sfs_ring *ring);

/* There will be no more batches; or: the producer has failed, and why.  What was
 * published arrives first. */
void sfs_ring_end(struct sfs_ring *ring);
void sfs_ring_fail(struct sfs_ring *ring, const char *why);

/* -EIO, with an error: it has failed. */
int sfs_ring_check(struct sfs_ring *ring, struct sfs_error *err);

/* Every batch below this number was released (or dropped). */
uint64_t sfs_ring_consumed(struct sfs_ring *ring);

/* Wait until sfs_ring_consumed() is more than `seq`.  0, -ETIMEDOUT, -EIO: as take. */
int sfs_ring_wait_consumed(struct sfs_ring *ring, uint64_t seq, int timeout_ms,
			   struct sfs_error *err);

/* For how long no consumer has been attached; 0: one is, or holds a batch of a producer that
 * died. */
uint64_t sfs_ring_alone_ms(struct sfs_ring *ring);

/* Where its slots lie: n_slots, *ret_stride apart, aligned to 4096. */
void *sfs_ring_slots(struct sfs_ring *ring, uint64_t *ret_stride);

/* For transports that have a network card write into a GPU's memory: the ring's device;
 * NULL: its slots are on the host. */
const struct sfs_device_ops *sfs_ring_device(struct sfs_ring *ring,
					     struct sfs_device **ret_device);

/* Batches will be copied from the slots on the host.  Once it is so, nothing. */
int sfs_ring_stage(struct sfs_ring *ring, struct sfs_error *err);

/* For statistics: how batches come into its memory ("dma-buf"); a constant. */
void sfs_ring_set_placement(struct sfs_ring *ring, const char *placement);

/* The bytes of a slot that was filled and not published, on the host; the address as for
 * publish().  NULL, with an error: they cannot be read. */
const void *sfs_ring_read(struct sfs_ring *ring, const void *slot, struct sfs_error *err);

struct sfs_ring_progress {
	uint64_t n_batches, n_samples, n_bytes; /* published */
	uint64_t next;		     /* ordinal after the last batch, in its stream */
	uint64_t waited_ns;	     /* by take(), for consumers */
	uint64_t full_ns;	     /* how long consumers have had all slots */
	const char *memory, *device; /* as the ring's; "host" and "" */
	const char *placement;	     /* "host", "staged", ...; NULL: not known yet */
};
void sfs_ring_look(struct sfs_ring *ring, struct sfs_ring_progress *ret);

/* Members of a JSON object: its memory, consumers, batches filled, taken, released,
 * dropped, redelivered, and how long the producer has waited for consumers. */
void sfs_ring_describe(struct sfs_ring *ring, struct sfs_json_writer *json);

#endif
