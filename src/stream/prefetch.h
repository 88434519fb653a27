/* SPDX-License-Identifier: MIT */
/* lanes - all lanes of a cursor: asks for their bytes in the order in which they
 * fall due, and deals what arrives to blocks.
 *
 * The lane that would buffer dry first is requested for first, part after part, as far
 * as the budget and the connections go.  A lane never holds more than its share:
 * data of a sample that is larger are jumped over, and the sample is handed on
 * without them (its buffer is NULL then; the cursor fetches it when its turn comes).
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
#include "stream/slice-buffer.h"

struct sfs_prefetch;

/* One request for bytes of a lane. */
struct sfs_part; /* see lanes.c */

struct sfs_prefetch_owner {
	void *ctx;
	/* A part ended, on a thread of the source or the pool: hand it to
	 * sfs_prefetch_arrive() soon, with the stream's lock held. */
	void (*ended)(void *ctx, struct sfs_part *part);
	/* Some of a part is here for which sfs_prefetch_pump() blocked: call it again
	 * soon.
	 */
	void (*ready)(void *ctx);
};

/* The lanes of an order, from the start (`at` is NULL) or from a spot of the map,
 * whose tables are at hand.  `account` pays for what is held.  `lanes` may be as
 * long as the order has lanes.  0, or an error of sfs_locator_seek(). */
int sfs_prefetch_new(struct sfs_runtime *runtime, const struct sfs_order *order,
		     struct sfs_account *account, const struct sfs_prefetch_owner *owner,
		     struct sfs_locator *map, const struct sfs_spot *at,
		     struct sfs_prefetch **ret_prefetch);

/* Cancel all parts.  They still end, and must be handed to sfs_prefetch_arrive(). */
void sfs_prefetch_cancel(struct sfs_prefetch *prefetch);

/* How many parts have not been handed to sfs_prefetch_arrive() yet. */
uint32_t sfs_prefetch_in_flight(const struct sfs_prefetch *prefetch);

/* sfs_slice_buffer_live_bytes() of all its runs. */
uint64_t sfs_prefetch_live_bytes(const struct sfs_prefetch *prefetch);

/* None may be on their way, and all samples must be released. */
void sfs_prefetch_free(struct sfs_prefetch *prefetch);

/* The next sample of a lane.
 * 0: *ret_sample, and its buffer in *ret_run (NULL: not held).  -EAGAIN: its bytes,
 * or those that tell where it is, are not here.  -ENODATA: the lane has ended.
 * -EBADMSG: the shard is damaged here; stays so. */
int sfs_prefetch_peek(struct sfs_prefetch *prefetch, uint32_t lane,
		      const struct sfs_block_sample **ret_sample,
		      struct sfs_slice_buffer **ret_run);

/* How many bytes have come for them. */
uint64_t sfs_prefetch_arrived_bytes(const struct sfs_prefetch *prefetch);

/* Have they half as much on its way as may be, which is what connections carry? */
bool sfs_prefetch_is_busy(const struct sfs_prefetch *prefetch);

/* Did the account refuse what was last requested for, so that connections are idle? */
bool sfs_prefetch_is_short(const struct sfs_prefetch *prefetch);

/* Whom does a read wait for that waits for this lane (-EAGAIN)?  If for the NETWORK,
 * since *ret_since_ns. */
enum sfs_wait sfs_prefetch_wait_cause(const struct sfs_prefetch *prefetch, uint32_t lane,
				      uint64_t *ret_since_ns);

/* What does such a read wait for? */
void sfs_prefetch_explain(const struct sfs_prefetch *prefetch, uint32_t lane,
			  struct sfs_cause *cause);

/* The link by which the owner may queue parts that ended. */
struct sfs_link *sfs_part_link(struct sfs_part *part);
struct sfs_part *sfs_part_of(struct sfs_link *link);

/* Take what peek returned; with a buffer, release it later. */
void sfs_prefetch_take(struct sfs_prefetch *prefetch, uint32_t lane);
void sfs_prefetch_release(struct sfs_prefetch *prefetch, uint32_t lane,
			  struct sfs_slice_buffer *buffer, uint64_t start,
			  uint64_t n_bytes);

/* Bytes of slice m of a lane that were requested for and did not come. */
struct sfs_prefetch_loss {
	int err; /* 0: nothing was lost */
	uint32_t lane, m;
	uint64_t start, end; /* of the shard */
};

/* A part ended: take it, and say what was lost. */
void sfs_prefetch_arrive(struct sfs_prefetch *prefetch, struct sfs_part *part,
			 struct sfs_prefetch_loss *ret_loss);

/* Does the lane, whose next sample sfs_prefetch_peek() does not have, lack what was lost?
 */
bool sfs_prefetch_needs(struct sfs_prefetch *prefetch,
			const struct sfs_prefetch_loss *loss);

/* Ask for as much as may be had now.  `blocking`: the lane that a reader waits
 * for, or UINT32_MAX; it is requested for whatever its share, and although its last
 * part failed.  true: look at it again, some of it is here or was given up. */
bool sfs_prefetch_pump(struct sfs_prefetch *prefetch, uint32_t blocking,
		       struct sfs_deferred *out);

/* The owner keeps so many bytes that it was given and has delivered, until it releases
 * them: they are none of what the lanes hold ahead. */
void sfs_prefetch_set_kept(struct sfs_prefetch *prefetch, uint64_t n_bytes);

/* Was everything up to the end of every lane requested for?  (What failed was not.) Known
 * after a call of sfs_prefetch_pump() that was not stopped by the account. */
bool sfs_prefetch_has_all(const struct sfs_prefetch *prefetch);

/* Would they ask for no more now, whatever memory and connections there were? */
bool sfs_prefetch_is_sated(struct sfs_prefetch *prefetch);

/* How large a part is at present: all open lanes share the budget. */
uint64_t sfs_prefetch_part_bytes(const struct sfs_runtime *runtime);

#endif
