/* SPDX-License-Identifier: MIT */
/* locate-known - how far the lanes of an epoch are known from the tables, and when their
 * samples are due.
 *
 * A lane is known up to the end of its leading whole slices, and the part of the next one
 * that its table has so far.  Nothing here tells dealt from equal lanes but the table of
 * functions that init() picks.  Pure; one thread.
 */
#ifndef SFS_LOCATE_KNOWN_H
#define SFS_LOCATE_KNOWN_H

#include "order/block.h"
#include "order/spot.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sfs_known_lane {
	uint32_t n_slices, n_whole; /* of its slices, and the leading whole ones */
	uint64_t n, bytes;	    /* samples and bytes, the part of the next included */
	uint64_t n_certain; /* of those, how many lead whose order is certain: K */
	uint64_t edge_time; /* the earliest that sample K can have */
	bool is_damaged;    /* the next slice is damaged, not unknown */
};

struct sfs_known_kind; /* dealt or equal: see locate-known.c */

struct sfs_known {
	const struct sfs_order *order;
	struct sfs_sample_tables tables;
	bool (*totals)(void *ctx, uint32_t shard, uint64_t *ret_n, uint64_t *ret_bytes);
	const struct sfs_known_kind *kind;

	uint64_t *n_before, *bytes_before; /* of slice i, in its own lane */
	const uint64_t *places;		   /* where slice i begins in its own lane */
	struct sfs_known_lane *lanes;

	/* The first sample whose order is not certain yet: its lane, and the earliest
	 * time that it can have; SFS_NEVER: all is certain. */
	uint64_t edge_time;
	uint32_t edge_lane;
};

/* Single samples are known from the start.  `totals` as for sfs_locator_init(). */
void sfs_known_init(struct sfs_known *k, const struct sfs_order *order,
		    const struct sfs_sample_tables *tables,
		    bool (*totals)(void *, uint32_t, uint64_t *, uint64_t *));
void sfs_known_done(struct sfs_known *k);

/* Find the edge anew, from tables that have grown.  -EAGAIN: that of shard *ret_shard is
 * not in memory. */
int sfs_known_update(struct sfs_known *k, uint32_t *ret_shard);

/* Why it ends at the edge.  -EAGAIN: shard *ret_shard must be scanned (further);
 * -EBADMSG: it is damaged. */
int sfs_known_explain_edge(const struct sfs_known *k, uint32_t *ret_shard);

bool sfs_known_is_past_edge(const struct sfs_known *k, const struct sfs_spot *spot);

/* Is the whole lane known? */
static inline bool sfs_known_is_complete(const struct sfs_known *k, uint32_t lane)
{
	return k->lanes[lane].n_whole == k->lanes[lane].n_slices;
}

/* The last of the lane's samples whose order is certain, + 1. */
static inline uint64_t sfs_known_certain(const struct sfs_known *k, uint32_t lane)
{
	return k->lanes[lane].n_certain;
}

/* ---- slices ---- */

/* The index of a lane's slice m among all slices. */
static inline size_t sfs_known_slice(const struct sfs_known *k, uint32_t lane, uint32_t m)
{
	return (size_t)k->order->lane_start[lane] + m;
}

/* The last of the lane's slices, as far as they are known, at which this rising list of a
 * number for each slice of the order is at most `most`. */
uint32_t sfs_known_find_slice(const struct sfs_known *k, uint32_t lane,
			      const uint64_t *list, uint64_t most);

/* The table of a slice, if it has all samples that are known of the slice; or NULL. */
const struct sfs_sample_table *sfs_known_table(const struct sfs_known *k, uint32_t lane,
					       uint32_t m);

/* The bytes of the lane before a sample of slice i, as they lie. */
uint64_t sfs_known_bytes_to(const struct sfs_known *k, size_t i,
			    const struct sfs_sample_table *table, uint64_t index);

/* The place of a sample of slice i in its lane. */
uint64_t sfs_known_place(const struct sfs_known *k, size_t i,
			 const struct sfs_sample_table *table, uint64_t index);

/* Set the number, slice and index of *ret_at to the lane's first sample at or after
 * `place`, which is within what is known.  -EAGAIN: the table is not loaded. */
int sfs_known_find_place(const struct sfs_known *k, uint32_t lane, uint64_t place,
			 struct sfs_lane *ret_at, uint32_t *ret_shard);

/* ---- times; -EAGAIN: the table of shard *ret_shard is not loaded ---- */

/* The time of the lane's sample `number`, which is known. */
int sfs_known_time(const struct sfs_known *k, uint32_t lane, uint64_t number,
		   uint64_t *ret_time, uint32_t *ret_shard);

/* How many of the lane's samples come before a time, which is not after the edge. */
int sfs_known_count_before(const struct sfs_known *k, uint32_t lane, uint64_t time,
			   uint64_t *ret_n, uint32_t *ret_shard);

/* The time by which all samples that are certain have left. */
uint64_t sfs_known_last_time(const struct sfs_known *k);

#endif
