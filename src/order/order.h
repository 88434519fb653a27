/* SPDX-License-Identifier: MIT */
/* order - the published function that says which sample comes when.
 *
 * docs/ORDER.md is the specification.  This module permutes segments, distributes whole
 * shards to lanes, cuts a lane into pieces, and shuffles the samples of a piece (a
 * block). partition.h makes equal lanes. Pure: the result depends only on the arguments,
 * and may never change.
 */
#ifndef SFS_ORDER_H
#define SFS_ORDER_H

#include "base/rng.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A part of an epoch: its lanes first, first + step, and so on; with equal=, n_ranks
 * share the epoch.  The whole epoch is {0, 1, 1}. */
struct sfs_share {
	uint64_t first, step;
	uint32_t n_ranks;
};

static inline bool sfs_share_equal(struct sfs_share a, struct sfs_share b)
{
	return a.first == b.first && a.step == b.step && a.n_ranks == b.n_ranks;
}

/* The part of a segment that a lane has: n samples of a shard from its sample `first` on,
 * whose extents are n_blocks of 512 together; or SFS_SLICE_ALL, all samples. */
struct sfs_slice {
	uint32_t shard, first, n, n_blocks;
};

#define SFS_SLICE_ALL UINT32_MAX
#define SFS_NO_LANE   UINT32_MAX
#define SFS_LANES_MAX 65536

/* The order of one part of an epoch; its lanes are numbered from 0. */
struct sfs_order {
	struct sfs_rng name; /* the common part of its generators' names: seed, epoch */
	struct sfs_share share;
	uint32_t n_lanes;	  /* in use; perhaps none */
	uint64_t piece_bytes;	  /* C */
	struct sfs_slice *slices; /* lane after lane */
	uint64_t *lane_start;	  /* where a lane's slices begin; n_lanes + 1 of them */

	/* With equal lanes only (partition.h), else 0. */
	bool has_equal_lanes;
	uint64_t n_samples, n_bytes; /* of the part */
	uint32_t shortened; /* the lane that lacks its last sample; or SFS_NO_LANE */
	uint64_t n_dropped_bytes; /* of that sample */
	uint32_t repeating; /* the lane whose last slice repeats a sample; or SFS_NO_LANE
			     */
};

/* What is permuted. */
#define SFS_SEGMENT_SHARD  0 /* whole shards */
#define SFS_SEGMENT_SAMPLE 1
#define SFS_SEGMENT_SIZE_MIN \
	512 /* bytes; samples that begin in the same ones are a segment */

enum sfs_equal { SFS_EQUAL_NONE, SFS_EQUAL_DROP, SFS_EQUAL_PAD };

struct sfs_order_settings {
	uint64_t seed;
	uint32_t lanes;	       /* > 0 */
	uint64_t buffer_bytes; /* that are shuffled together, over all lanes */
	uint64_t segment;
	enum sfs_equal equal;
};

/* Are lanes equal runs of samples?  (Else they get whole shards.) */
static inline bool sfs_order_wants_equal_lanes(const struct sfs_order_settings *s)
{
	return s->segment != SFS_SEGMENT_SHARD || s->equal != SFS_EQUAL_NONE;
}

/* How many positions an epoch of n samples has for n_ranks >= 1: with equal=, a multiple
 * of n_ranks. */
uint64_t sfs_order_positions(const struct sfs_order_settings *settings, uint64_t n,
			     uint32_t n_ranks);

/* The order of a part of an epoch, without lanes yet. */
struct sfs_order sfs_order_empty(const struct sfs_order_settings *settings,
				 uint64_t epoch, struct sfs_share share);

/* The order of a part of one epoch of n_shards, distributed to lanes as whole shards. */
void sfs_order_init(struct sfs_order *o, const struct sfs_order_settings *settings,
		    uint64_t epoch, uint32_t n_shards, struct sfs_share share);
void sfs_order_done(struct sfs_order *o);

/* How many slices a lane has, and its m-th. */
static inline uint32_t sfs_order_lane_slices(const struct sfs_order *o, uint32_t lane)
{
	return (uint32_t)(o->lane_start[lane + 1] - o->lane_start[lane]);
}

static inline const struct sfs_slice *sfs_order_slice(const struct sfs_order *o,
						      uint32_t lane, uint32_t m)
{
	return &o->slices[o->lane_start[lane] + m];
}

/* How many slices all lanes have. */
static inline uint64_t sfs_order_slices(const struct sfs_order *o)
{
	return o->lane_start ? o->lane_start[o->n_lanes] : 0;
}

/* Bytes of memory that it takes. */
static inline uint64_t sfs_order_memory(const struct sfs_order *o)
{
	return sfs_order_slices(o) * sizeof *o->slices +
	       ((uint64_t)o->n_lanes + 1) * sizeof *o->lane_start;
}

/* The i-th shard that was distributed, one to each lane in turn. */
static inline uint32_t sfs_order_dealt(const struct sfs_order *o, uint32_t i)
{
	return sfs_order_slice(o, i % o->n_lanes, i / o->n_lanes)->shard;
}

/* Does the m-th slice of the lane repeat a sample of the epoch?  It is a block of its
 * own. */
static inline bool sfs_order_is_repeat(const struct sfs_order *o, uint32_t lane,
				       uint32_t m)
{
	return lane == o->repeating && m + 1 == sfs_order_lane_slices(o, lane);
}

/* A permutation of the n segments 0, 1, ...; the caller frees it. */
uint32_t *sfs_order_permute(const struct sfs_order *o, uint32_t n);

/* C of section 4: the bytes of a piece, with n_lanes in use. */
uint64_t sfs_order_c(const struct sfs_order_settings *settings, uint64_t n_lanes);

/* The piece of a lane that holds a place (a sum of extents, in bytes), and the places
 * where a piece begins and ends. */
uint64_t sfs_order_piece(const struct sfs_order *o, uint64_t place);
uint64_t sfs_order_piece_start(const struct sfs_order *o, uint64_t piece);
uint64_t sfs_order_piece_end(const struct sfs_order *o, uint64_t piece);

/* The order in which the n samples of a block leave: the t-th to leave is sample perm[t].
 */
void sfs_order_block(const struct sfs_order *o, uint32_t lane, uint64_t piece,
		     uint32_t *perm, size_t n);

#endif
