/* SPDX-License-Identifier: MIT */
/* lanes - all lanes of a cursor: asks for their bytes in the order in which they
 * fall due, and deals what arrives to blocks.
 *
 * The lane that would run dry first is asked for first, part after part, as far
 * as the budget and the connections go.  A lane never holds more than its share:
 * data of a sample that is larger are jumped over, and the sample is handed on
 * without them (its run is NULL then; the cursor fetches it when its turn comes).
 *
 * Not thread-safe: the stream's lock guards it.  Nothing waits.
 */
#ifndef SFS_LANES_H
#define SFS_LANES_H

#include "blame.h"
#include "env.h"
#include "lane.h"
#include "map.h"
#include "outbox.h"
#include "run.h"

struct sfs_lanes;

/* One request for bytes of a lane. */
struct sfs_part; /* see lanes.c */

struct sfs_lanes_owner {
	void *ctx;
	/* A part ended, on a thread of the source or the pool: hand it to
	 * sfs_lanes_arrive() soon, with the stream's lock held. */
	void (*ended)(void *ctx, struct sfs_part *part);
	/* Some of a part is here for which sfs_lanes_pump() blocked: call it again soon.
	 */
	void (*stirred)(void *ctx);
};

/* The lanes of an order, from the start (`at` is NULL) or from a spot of the map,
 * whose tables are at hand.  `account` pays for what is held.  `lanes` may be as
 * long as the order has lanes.  0, or an error of sfs_map_seek(). */
int sfs_lanes_new(struct sfs_env *env, const struct sfs_order *order,
		  struct sfs_account *account, const struct sfs_lanes_owner *owner,
		  struct sfs_map *map, const struct sfs_spot *at,
		  struct sfs_lanes **ret_lanes);

/* Cancel all parts.  They still end, and must be handed to sfs_lanes_arrive(). */
void sfs_lanes_cancel(struct sfs_lanes *lanes);

/* How many parts have not been handed to sfs_lanes_arrive() yet. */
uint32_t sfs_lanes_on_way(const struct sfs_lanes *lanes);

/* sfs_run_live() of all its runs. */
uint64_t sfs_lanes_live(const struct sfs_lanes *lanes);

/* None may be on their way, and all samples must be released. */
void sfs_lanes_free(struct sfs_lanes *lanes);

/* The next sample of a lane.
 * 0: *ret_sample, and its run in *ret_run (NULL: not held).  -EAGAIN: its bytes,
 * or those that tell where it is, are not here.  -ENODATA: the lane has ended.
 * -EBADMSG: the shard is damaged here; stays so. */
int sfs_lanes_peek(struct sfs_lanes *lanes, uint32_t lane,
		   const struct sfs_block_sample **ret_sample, struct sfs_run **ret_run);

/* How many bytes have come for them. */
uint64_t sfs_lanes_came(const struct sfs_lanes *lanes);

/* Have they half as much on its way as may be, which is what connections carry? */
bool sfs_lanes_are_busy(const struct sfs_lanes *lanes);

/* Did the account refuse what was last asked for, so that connections are idle? */
bool sfs_lanes_are_short(const struct sfs_lanes *lanes);

/* Whom does a read wait for that waits for this lane (-EAGAIN)?  If for the NETWORK,
 * since *ret_since_ns. */
enum sfs_blame sfs_lanes_blame(const struct sfs_lanes *lanes, uint32_t lane,
			       uint64_t *ret_since_ns);

/* What does such a read wait for? */
void sfs_lanes_explain(const struct sfs_lanes *lanes, uint32_t lane,
		       struct sfs_cause *cause);

/* The link by which the owner may queue parts that ended. */
struct sfs_link *sfs_part_link(struct sfs_part *part);
struct sfs_part *sfs_part_of(struct sfs_link *link);

/* Take what peek returned; with a run, release it later. */
void sfs_lanes_take(struct sfs_lanes *lanes, uint32_t lane);
void sfs_lanes_release(struct sfs_lanes *lanes, uint32_t lane, struct sfs_run *run,
		       uint64_t start, uint64_t n_bytes);

/* A part ended.  Returns its error, if nothing else of the lane is on its way that
 * might help, and the lane in *ret_lane. */
int sfs_lanes_arrive(struct sfs_lanes *lanes, struct sfs_part *part, uint32_t *ret_lane);

/* Ask for as much as may be had now.  `blocking`: the lane that a reader waits
 * for, or UINT32_MAX; it is asked for whatever its share, and although its last
 * part failed.  true: look at it again, some of it is here or was given up. */
bool sfs_lanes_pump(struct sfs_lanes *lanes, uint32_t blocking, struct sfs_outbox *out);

/* The owner keeps so many bytes that it was given and has delivered, until it releases
 * them: they are none of what the lanes hold ahead. */
void sfs_lanes_keep(struct sfs_lanes *lanes, uint64_t n_bytes);

/* Was everything up to the end of every lane asked for?  (What failed was not.)  Known
 * after a call of sfs_lanes_pump() that was not stopped by the account. */
bool sfs_lanes_have_all(const struct sfs_lanes *lanes);

/* Would they ask for no more now, whatever memory and connections there were? */
bool sfs_lanes_are_sated(struct sfs_lanes *lanes);

#endif
