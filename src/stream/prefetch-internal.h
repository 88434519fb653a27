/* SPDX-License-Identifier: MIT */
/* prefetch-internal - what prefetch.c (which bytes to request next), prefetch-lane.c (the
 * buffers and blocks of a lane) and prefetch-part.c (requests) share. */
#ifndef SFS_PREFETCH_INTERNAL_H
#define SFS_PREFETCH_INTERNAL_H

#include "io/range.h"
#include "stream/prefetch.h"

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

struct sfs_prefetch {
	struct sfs_runtime *runtime;
	const struct sfs_order *order;
	struct sfs_account *account;
	struct sfs_prefetch_owner owner;
	struct sfs_link parts;			  /* in flight, the oldest first */
	uint32_t n_in_flight, max_lane_in_flight; /* max: of a lane of mean pace */
	uint64_t now;				  /* the time of the last sample taken */
	uint32_t n_left;			  /* lanes that are not all requested */
	uint64_t speed;				  /* of all dealt lanes together */
	bool is_refused;		     /* by the account, at the last request */
	uint64_t n_assigned, assigned_bytes; /* of all lanes, for the mean size */
	uint64_t arrived_bytes;		     /* slabs */
	uint64_t kept_bytes;		     /* see sfs_prefetch_set_kept() */
	struct sfs_prefetch_lane *forming;   /* whose tables may be looked at */
	uint64_t part_bytes, lane_share;     /* as of the last sfs_prefetch_pump() */
	uint64_t margin;		     /* see sfs_prefetch_lane_update() */
	int64_t lead; /* a lane with this much time ahead has enough */
	int64_t *due; /* of each lane; SFS_PREFETCH_NOT_NOW: request nothing */
	struct sfs_prefetch_lane lanes[];
};

struct sfs_part {
	struct sfs_prefetch *prefetch;
	uint32_t lane;
	struct sfs_slice_buffer *buffer;
	int err;
	int64_t needed;		      /* the time at which its lane blocks without it */
	struct sfs_link link;	      /* in prefetch->parts */
	struct sfs_deferred_call job; /* to submit it */
	struct sfs_link ended;	      /* the owner's */

	/* To be kept: slabs of the buffer. */
	struct sfs_request request;
	void **slabs;
	struct iovec *iov;
	size_t n_slabs, n_here;	   /* the first n_here are the buffer's */
	_Atomic uint64_t begun_ns; /* see sfs_request */

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

void sfs_prefetch_lane_set_requested(struct sfs_prefetch *p,
				     struct sfs_prefetch_lane *lane, bool is_requested);

/* The buffer of the lane's slice m, or NULL. */
struct sfs_slice_buffer *sfs_prefetch_lane_find(const struct sfs_prefetch_lane *lane,
						uint32_t m);

/* A buffer for the lane's slice m, from byte `from` of the shard on (0: from the slice's
 * first byte).  It keeps the shard pinned. */
struct sfs_slice_buffer *sfs_prefetch_lane_add(struct sfs_prefetch *p,
					       struct sfs_prefetch_lane *lane, uint32_t m,
					       uint64_t from);

/* Have the buffers up to where the lane is. */
void sfs_prefetch_lane_open(struct sfs_prefetch *p, struct sfs_prefetch_lane *lane);

/* Free a buffer that is in no list any more; or the first ones, while nobody needs them.
 */
void sfs_prefetch_lane_close(struct sfs_prefetch *p, struct sfs_slice_buffer *buffer);
void sfs_prefetch_lane_drop(struct sfs_prefetch *p, struct sfs_prefetch_lane *lane);

/* Feed the shard's table with what the buffer has of the bytes that it wants. */
void sfs_prefetch_lane_feed(struct sfs_prefetch *p, struct sfs_slice_buffer *buffer);

/* The mean size of a sample, in bytes; and the number of lanes with something left to
 * request, at least 1. */
uint64_t sfs_prefetch_mean_bytes(const struct sfs_prefetch *p);
uint32_t sfs_prefetch_n_left(const struct sfs_prefetch *p);

/* In how much time n_bytes leave, of all lanes; of equal ones, those with something left
 * to request. */
int64_t sfs_prefetch_duration(const struct sfs_prefetch *p, uint64_t n_bytes);

/* Something about the lane has changed: compute anew when its first byte that was not
 * requested falls due, or rather, the byte p->margin before that. */
void sfs_prefetch_lane_update(struct sfs_prefetch *p, struct sfs_prefetch_lane *lane);

/* When the lane blocks unless it has that byte: its block begins to leave. */
int64_t sfs_prefetch_lane_needed(const struct sfs_prefetch *p,
				 const struct sfs_prefetch_lane *lane);

/* Put the lane after the block that holds its sample `number`.  0, or an error of
 * sfs_locator_seek(). */
int sfs_prefetch_lane_start(struct sfs_prefetch *p, struct sfs_prefetch_lane *lane,
			    struct sfs_locator *locator, uint64_t number);

/* ---- prefetch-part.c: requests ---- */

/* Request bytes to be kept (whole slabs, except at the shard's end).
 * false: the account refuses. */
bool sfs_part_request(struct sfs_prefetch *p, struct sfs_prefetch_lane *lane,
		      const struct sfs_prefetch_want *want, bool is_urgent,
		      struct sfs_deferred *out);

/* Request a header at want->offset, which is not kept. */
void sfs_part_request_header(struct sfs_prefetch *p, struct sfs_prefetch_lane *lane,
			     const struct sfs_prefetch_want *want, bool is_urgent,
			     struct sfs_deferred *out);

/* A reader waits for the part: take the slabs that are ready, and have the owner called
 * when there are more.  true: there were some. */
bool sfs_part_take_ready(struct sfs_prefetch *p, struct sfs_part *part);

/* Is the byte of this buffer in flight? */
bool sfs_part_is_in_flight(const struct sfs_prefetch *p,
			   const struct sfs_slice_buffer *buffer, uint64_t byte);

/* The first byte of the shard that the part has not brought yet. */
uint64_t sfs_part_first_byte(const struct sfs_part *part);

#endif
