/* SPDX-License-Identifier: MIT */
/* prefetch-lanes - lanes of shards or segments, read front to back: what prefetch-lanes.c
 * (which bytes to request next), prefetch-lane.c (the buffers and blocks of a lane) and
 * prefetch-part.c (requests) share.
 *
 * Parts are requested for the lane whose next byte falls due first, as far as the budget
 * and the source's connections go.  A lane never holds more than its share of the
 * account: it skips the data of a larger sample, which it hands on without a buffer. */
#ifndef SFS_PREFETCH_LANES_H
#define SFS_PREFETCH_LANES_H

#include "io/range.h"
#include "order/merge.h"
#include "stream/prefetch/prefetch-internal.h"

#define SFS_PREFETCH_NOT_NOW INT64_MAX

struct sfs_prefetch_lane {
	struct sfs_lane at; /* after the block */
	struct sfs_block block;
	bool is_formed, has_ended;
	bool is_requested; /* all of it, up to its end */
	size_t t;	   /* the next sample of the block to leave */
	int damage;	   /* -EBADMSG: what comes next is damaged */
	uint64_t damage_time;
	uint64_t speed; /* bytes in SFS_TIMES; of a dealt lane */

	struct sfs_slice_buffer *first_buffer, *last_buffer;
	uint32_t next_m; /* the slice after last_buffer's */
	uint32_t n_in_flight;
	uint64_t requested_bytes; /* to be kept, since the start */
	bool has_failed;     /* its last part failed; only a waiting reader tries again */
	bool has_only_large; /* the next samples are too large to hold: request headers */
};

struct sfs_prefetch_lanes {
	struct sfs_prefetch base;
	struct sfs_merge merge; /* which lane has the next sample */
	uint32_t blocked; /* the lane that the last peek stopped at, or UINT32_MAX */
	uint32_t max_lane_in_flight;	     /* of a lane of mean pace */
	uint64_t now;			     /* the time of the last sample taken */
	uint32_t n_left;		     /* lanes that are not all requested */
	uint64_t speed;			     /* of all dealt lanes together */
	uint64_t n_assigned, assigned_bytes; /* of all lanes, for the mean size */
	struct sfs_prefetch_lane *forming;   /* whose tables may be looked at */
	uint64_t part_bytes, lane_share;     /* as of the last sfs_prefetch_pump() */
	uint64_t margin;		     /* see sfs_prefetch_lane_update() */
	int64_t lead; /* a lane with this much time ahead has enough */
	int64_t *due; /* of each lane; SFS_PREFETCH_NOT_NOW: request nothing */
	struct sfs_prefetch_lane lanes[];
};

static inline struct sfs_prefetch_lanes *sfs_prefetch_lanes_of(
	const struct sfs_prefetch *p)
{
	return sfs_container(p, struct sfs_prefetch_lanes, base);
}

struct sfs_lane_part {
	struct sfs_part base;
	uint32_t lane;
	struct sfs_slice_buffer *buffer;
	int64_t needed; /* the time at which its lane blocks without it */

	/* To be kept: slabs of the buffer. */
	void **slabs;
	size_t n_slabs, n_here; /* the first n_here are the buffer's */

	/* Or headers, which only the shard's table needs. */
	bool is_header;
	struct sfs_range range;
};

/* What to request next for a lane. */
struct sfs_prefetch_want {
	struct sfs_slice_buffer *buffer;
	uint64_t offset, n_bytes;
	bool is_header;
};

/* ---- prefetch-lane.c: buffers and blocks ---- */

void sfs_prefetch_lane_set_requested(struct sfs_prefetch_lanes *p,
				     struct sfs_prefetch_lane *lane, bool is_requested);

/* The buffer of the lane's slice m, or NULL. */
struct sfs_slice_buffer *sfs_prefetch_lane_find(const struct sfs_prefetch_lane *lane,
						uint32_t m);

/* A buffer for the lane's slice m, from byte `from` of the shard on (0: from the slice's
 * first byte).  It keeps the shard pinned. */
struct sfs_slice_buffer *sfs_prefetch_lane_add(struct sfs_prefetch_lanes *p,
					       struct sfs_prefetch_lane *lane, uint32_t m,
					       uint64_t from);

/* The buffer of a stretch that is still being scanned: how far it reaches follows from
 * what is known by now. */
void sfs_prefetch_lane_extend(struct sfs_slice_buffer *buffer);

/* Have the buffers up to where the lane is. */
void sfs_prefetch_lane_open(struct sfs_prefetch_lanes *p, struct sfs_prefetch_lane *lane);

/* Free a buffer that is in no list any more; or the first ones, while
 * nobody needs them. */
void sfs_prefetch_lane_close(struct sfs_prefetch_lanes *p,
			     struct sfs_slice_buffer *buffer);
void sfs_prefetch_lane_drop(struct sfs_prefetch_lanes *p, struct sfs_prefetch_lane *lane);

/* Feed the shard's table with what the buffer has of the bytes that it wants. */
void sfs_prefetch_lane_feed(struct sfs_prefetch_lanes *p,
			    struct sfs_slice_buffer *buffer);

/* The mean size of a sample, in bytes; and the number of lanes with something left to
 * request, at least 1. */
uint64_t sfs_prefetch_mean_bytes(const struct sfs_prefetch_lanes *p);
uint32_t sfs_prefetch_n_left(const struct sfs_prefetch_lanes *p);

/* In how much time n_bytes leave, of all lanes; of equal ones, those with something left
 * to request. */
int64_t sfs_prefetch_duration(const struct sfs_prefetch_lanes *p, uint64_t n_bytes);

/* Something about the lane has changed: compute anew when its first byte that was not
 * requested falls due, or rather, the byte p->margin before that. */
void sfs_prefetch_lane_update(struct sfs_prefetch_lanes *p,
			      struct sfs_prefetch_lane *lane);

/* When the lane blocks unless it has that byte: its block begins to leave. */
int64_t sfs_prefetch_lane_needed(const struct sfs_prefetch_lanes *p,
				 const struct sfs_prefetch_lane *lane);

/* When its next sample leaves, as far as sfs_prefetch_lane_peek() has got: while that
 * returns -EAGAIN, the earliest time that is possible.  SFS_NEVER: the lane has ended. */
uint64_t sfs_prefetch_lane_time(const struct sfs_prefetch_lane *lane);

/* Its next sample, as sfs_prefetch_peek(); and take that. */
int sfs_prefetch_lane_peek(struct sfs_prefetch_lanes *p, struct sfs_prefetch_lane *lane,
			   struct sfs_prefetch_next *ret_next);
void sfs_prefetch_lane_take(struct sfs_prefetch_lanes *p, struct sfs_prefetch_lane *lane);

/* Put the lane after the block that holds its sample `number`.  0, or an error of
 * sfs_locator_seek(). */
int sfs_prefetch_lane_start(struct sfs_prefetch_lanes *p, struct sfs_prefetch_lane *lane,
			    struct sfs_locator *locator, uint64_t number);

/* ---- prefetch-part.c: requests ---- */

/* Request bytes to be kept (whole slabs, except at the shard's end).
 * false: the account refuses. */
bool sfs_lane_part_request(struct sfs_prefetch_lanes *p, struct sfs_prefetch_lane *lane,
			   const struct sfs_prefetch_want *want, bool is_urgent,
			   struct sfs_deferred *out);

/* Request bytes for the shard's table that are not kept. */
void sfs_lane_part_request_header(struct sfs_prefetch_lanes *p,
				  struct sfs_prefetch_lane *lane,
				  const struct sfs_prefetch_want *want, bool is_urgent,
				  struct sfs_deferred *out);

/* A reader waits for the part: take the slabs that are ready, and have the owner called
 * when there are more.  true: there were some. */
bool sfs_lane_part_take_ready(struct sfs_prefetch_lanes *p, struct sfs_lane_part *part);

/* Is the byte of this buffer in flight? */
bool sfs_lane_part_is_in_flight(const struct sfs_prefetch_lanes *p,
				const struct sfs_slice_buffer *buffer, uint64_t byte);

/* The part ended: take it.  See sfs_prefetch_arrive(). */
void sfs_lane_part_take(struct sfs_prefetch_lanes *p, struct sfs_lane_part *part,
			struct sfs_prefetch_loss *ret_loss);

/* The first byte of the shard that the part has not brought yet. */
uint64_t sfs_lane_part_first_byte(const struct sfs_lane_part *part);

#endif
