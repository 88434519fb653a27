/* SPDX-License-Identifier: MIT */
/* prefetch - requests a stream's samples before a cursor needs them, and gives them to it
 * in the order of the stream, as they arrive.
 *
 * There are two kinds (prefetch-internal.h).  Lanes of shards and segments are read lane
 * by lane, front to back.  Single samples, which are anywhere in the dataset, are read
 * by the place where they lie, a chunk of the stream at a time.
 *
 * A sample that is too large to hold is handed on without a buffer, and so is one for
 * which there is no memory: the cursor fetches it when its turn comes (oversize.h).
 *
 * Not thread-safe: the stream's lock guards it.  Nothing waits.
 */
#ifndef SFS_PREFETCH_H
#define SFS_PREFETCH_H

#include "base/deferred.h"
#include "base/waits.h"
#include "io/runtime.h"
#include "order/block.h"
#include "order/locate.h"
#include "stream/prefetch/slice-buffer.h"

struct sfs_prefetch;
struct sfs_part; /* one request */

struct sfs_prefetch_owner {
	void *ctx;
	/* A part ended, on a thread of the source or the pool: hand it to
	 * sfs_prefetch_arrive() soon, with the stream's lock held. */
	void (*ended)(void *ctx, struct sfs_part *part);
	/* More is ready of a part that a reader waits for: call sfs_prefetch_pump() again
	 * soon.  On a thread of the source. */
	void (*ready)(void *ctx);
};

struct sfs_prefetch_settings {
	struct sfs_runtime *runtime;
	const struct sfs_order *order;
	struct sfs_account *account; /* pays for what is held */
	struct sfs_prefetch_owner owner;
};

/* Prefetch an order from its start (`at` is NULL), or from a spot that the locator found
 * and whose tables are at hand.  Everything but `at` stays borrowed; the settings are
 * copied.  0, or an error of sfs_locator_seek(). */
int sfs_prefetch_new(const struct sfs_prefetch_settings *settings,
		     struct sfs_locator *locator, const struct sfs_spot *at,
		     struct sfs_prefetch **ret_prefetch);

/* Cancel all parts.  They still end, and must be handed to sfs_prefetch_arrive(). */
void sfs_prefetch_cancel(struct sfs_prefetch *prefetch);

/* How many parts have not been handed to sfs_prefetch_arrive() yet. */
uint32_t sfs_prefetch_in_flight(const struct sfs_prefetch *prefetch);

/* sfs_slice_buffer_live_bytes() of all its buffers. */
uint64_t sfs_prefetch_live_bytes(const struct sfs_prefetch *prefetch);

/* No part may be in flight, and all samples must be released.  NULL is fine. */
void sfs_prefetch_free(struct sfs_prefetch *prefetch);

/* The next sample of the stream, and where its bytes are. */
struct sfs_prefetch_next {
	const struct sfs_block_sample *sample;
	struct sfs_slice_buffer *buffer; /* NULL: none holds it */
	uint64_t start;			 /* of its bytes in the buffer */
};

/* 0: *ret_next.  -EAGAIN: its bytes, or those that say where it is, are not here.
 * -ENODATA: the epoch has ended.  -EBADMSG: the shard is damaged here; stays so. */
int sfs_prefetch_peek(struct sfs_prefetch *prefetch, struct sfs_prefetch_next *ret_next);

/* Take what peek returned; with a buffer, release it later. */
void sfs_prefetch_take(struct sfs_prefetch *prefetch);
void sfs_prefetch_release(struct sfs_prefetch *prefetch, struct sfs_slice_buffer *buffer,
			  uint64_t start, uint64_t n_bytes);

/* How many bytes have arrived since the start. */
uint64_t sfs_prefetch_arrived_bytes(const struct sfs_prefetch *prefetch);

/* Are at least half of the allowed requests in flight?  (More than half are allowed only
 * to have some waiting for a connection.) */
bool sfs_prefetch_is_busy(const struct sfs_prefetch *prefetch);

/* Did the account refuse the last request, so that connections are idle? */
bool sfs_prefetch_is_short(const struct sfs_prefetch *prefetch);

/* What does a read wait for that waits for the next sample (-EAGAIN)?  If for the
 * NETWORK, since *ret_since_ns. */
enum sfs_wait sfs_prefetch_wait_cause(const struct sfs_prefetch *prefetch,
				      uint64_t *ret_since_ns);

/* The same, with the shard and the byte. */
void sfs_prefetch_explain(const struct sfs_prefetch *prefetch, struct sfs_cause *cause);

/* Does that sample wait for the table of its shard, which somebody must scan
 * (sfs_stretch_waits())? */
bool sfs_prefetch_waits(const struct sfs_prefetch *prefetch);

/* The link by which the owner may queue parts that ended. */
struct sfs_link *sfs_part_link(struct sfs_part *part);
struct sfs_part *sfs_part_of(struct sfs_link *link);

/* Bytes of a shard that were requested and did not come. */
struct sfs_prefetch_loss {
	int err; /* 0: nothing was lost */
	uint32_t shard;
	uint64_t start, end;
	uint32_t lane, m; /* for a slice of a lane */
};

/* A part ended: take it, and say what was lost. */
void sfs_prefetch_arrive(struct sfs_prefetch *prefetch, struct sfs_part *part,
			 struct sfs_prefetch_loss *ret_loss);

/* Does the next sample, for which sfs_prefetch_peek() returns -EAGAIN, wait for what was
 * lost? */
bool sfs_prefetch_needs(struct sfs_prefetch *prefetch,
			const struct sfs_prefetch_loss *loss);

/* Request as much as is allowed now.  `is_awaited`: a reader waits for the next sample,
 * for which sfs_prefetch_peek() returned -EAGAIN; its bytes are requested although their
 * last request failed, and whatever else is in flight.  true: peek again, more of it is
 * here or was given up. */
bool sfs_prefetch_pump(struct sfs_prefetch *prefetch, bool is_awaited,
		       struct sfs_deferred *out);

/* Of the bytes that the owner has not released, it has delivered n_bytes: they do not
 * count as held ahead. */
void sfs_prefetch_set_kept(struct sfs_prefetch *prefetch, uint64_t n_bytes);

/* Was everything up to the end requested, and nothing of it lost?  Known after a call of
 * sfs_prefetch_pump() that the account did not stop. */
bool sfs_prefetch_has_all(const struct sfs_prefetch *prefetch);

/* Would it request no more now, whatever memory and connections there were? */
bool sfs_prefetch_is_sated(struct sfs_prefetch *prefetch);

/* How large a part is at present, in bytes: all open lanes share the budget. */
uint64_t sfs_prefetch_part_bytes(const struct sfs_runtime *runtime);

#endif
