/* SPDX-License-Identifier: MIT */
/* order - the published function that says which sample comes when.
 *
 * docs/ORDER.md is the specification.  This module permutes segments, deals whole shards
 * or what cuts.h makes of them to lanes, cuts a lane into pieces, shuffles the samples of
 * a piece (a block), and says when they are due. partition.h makes equal lanes.  Pure:
 * the result depends only on the arguments, and may never change.
 */
#ifndef SFS_ORDER_H
#define SFS_ORDER_H

#include "base/rng.h"
#include "order/grid.h"
#include "order/numbering.h"

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
 * whose extents are n_blocks of 512 together; or SFS_SLICE_ALL, all samples.  (n_blocks
 * is not set for a single sample.) */
struct sfs_slice {
	uint32_t shard, first, n, n_blocks;
};

#define SFS_SLICE_ALL UINT32_MAX
#define SFS_NO_LANE   UINT32_MAX
#define SFS_LANES_MAX 65536

/* Times order the samples of an epoch.  The dealt lanes' are below SFS_TIMES; in an equal
 * lane, sample j has the time j. */
#define SFS_TIMES ((uint64_t)1 << 32)
#define SFS_NEVER UINT64_MAX

/* How fast a dealt lane goes: half of its bytes are due by `half`, all by SFS_TIMES. */
struct sfs_pace {
	uint64_t n_bytes; /* Z: of its stretches; a shard's size is rounded up to 512 */
	uint32_t half;	  /* h */
};

/* The order of one part of an epoch; its lanes are numbered from 0. */
struct sfs_order {
	struct sfs_rng name; /* the common part of its generators' names: seed, epoch */
	struct sfs_share share;
	uint32_t n_lanes;	  /* in use; perhaps none */
	uint64_t piece_bytes;	  /* C */
	struct sfs_slice *slices; /* lane after lane */
	uint64_t *lane_start;	  /* where a lane's slices begin; n_lanes + 1 of them */

	/* With dealt lanes only, else NULL. */
	uint64_t *bases; /* of each slice: the bytes before it in its lane */
	uint64_t *cuts;	 /* of each slice: where its stretch (cuts.h) begins in its shard; or
			  * NULL, if all are whole shards */
	struct sfs_pace *paces; /* of each lane */

	/* With equal lanes only (partition.h), else 0. */
	bool has_equal_lanes;
	uint64_t n_samples, n_bytes; /* of the part; see sfs_partition_sum() */
	uint32_t shortened; /* the lane that lacks its last sample; or SFS_NO_LANE */
	uint32_t repeating; /* the lane whose last slice repeats a sample, or that */

	/* With single samples only (segment=sample), else empty: no slices are kept. */
	uint32_t lanes; /* of the epoch, in use or not */
	struct sfs_numbering numbering;
	struct sfs_grid grid; /* F: which sample is at a position of the epoch */
};

/* What is permuted. */
#define SFS_SEGMENT_SHARD  0 /* whole shards */
#define SFS_SEGMENT_SAMPLE 1
#define SFS_SEGMENT_RANDOM 2 /* between cuts (cuts.h) */
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

/* Are lanes equal runs of samples?  (Else they are dealt whole segments.) */
static inline bool sfs_order_wants_equal_lanes(const struct sfs_order_settings *s)
{
	return (s->segment != SFS_SEGMENT_SHARD && s->segment != SFS_SEGMENT_RANDOM) ||
	       s->equal != SFS_EQUAL_NONE;
}

/* Are they dealt whole shards?  (For all else the tables of all shards are needed.) */
static inline bool sfs_order_deals_shards(const struct sfs_order_settings *s)
{
	return s->segment == SFS_SEGMENT_SHARD && s->equal == SFS_EQUAL_NONE;
}

/* How many segments there are of shards of these sizes, if they are dealt; at most as
 * many lanes are in use. */
uint32_t sfs_order_dealt(const struct sfs_order_settings *settings, const uint64_t *sizes,
			 uint32_t n_shards);

/* How many lanes an epoch has at most, whatever the sizes of its shards are. */
uint32_t sfs_order_most_lanes(const struct sfs_order_settings *settings,
			      uint32_t n_shards);

/* How many positions an epoch of n samples has for n_ranks >= 1: with equal=, a multiple
 * of n_ranks. */
uint64_t sfs_order_positions(const struct sfs_order_settings *settings, uint64_t n,
			     uint32_t n_ranks);

/* The order of a part of an epoch, without lanes yet. */
struct sfs_order sfs_order_empty(const struct sfs_order_settings *settings,
				 uint64_t epoch, struct sfs_share share);

/* The order of a part of one epoch of n_shards, whose segments are dealt to lanes.
 * `sizes`: of each shard, in bytes; 0: it is missing.  If segments are not whole shards,
 * each slice has its cut, but SFS_SLICE_ALL: partition.h finds its samples, or they
 * become known as they are read (sfs_order_use_stretches()). */
void sfs_order_init(struct sfs_order *o, const struct sfs_order_settings *settings,
		    uint64_t epoch, const uint64_t *sizes, uint32_t n_shards,
		    struct sfs_share share);
void sfs_order_done(struct sfs_order *o);

/* After that, with random segments: have slices of the stretches, which are as many
 * shards from number `first` on, in the sequence of sfs_cuts_make(). */
void sfs_order_use_stretches(struct sfs_order *o, uint32_t first);

/* Are its lanes whole segments, at paces of their own?  (Else they are equal.) */
static inline bool sfs_order_is_dealt(const struct sfs_order *o)
{
	return o->bases != NULL;
}

/* The number of a lane in the whole epoch. */
static inline uint64_t sfs_order_lane_number(const struct sfs_order *o, uint32_t lane)
{
	return o->share.first + lane * o->share.step;
}

/* Is each sample a segment, and so a slice and a block of its own?  (An epoch without
 * samples has no lanes either way.) */
static inline bool sfs_order_is_single(const struct sfs_order *o)
{
	return o->grid.n > 0;
}

/* With single samples: the number of a lane's m-th. */
static inline uint32_t sfs_order_number(const struct sfs_order *o, uint32_t lane,
					uint32_t m)
{
	uint64_t position = sfs_order_lane_number(o, lane) + (uint64_t)m * o->lanes;

	return sfs_grid_at(&o->grid,
			   (uint32_t)(position < o->grid.n ? position
							   : position % o->grid.n));
}

struct sfs_slice sfs_order_single(const struct sfs_order *o, uint32_t lane, uint32_t m);

/* How many slices a lane has, and its m-th. */
static inline uint32_t sfs_order_lane_slices(const struct sfs_order *o, uint32_t lane)
{
	return (uint32_t)(o->lane_start[lane + 1] - o->lane_start[lane]);
}

static inline struct sfs_slice sfs_order_slice(const struct sfs_order *o, uint32_t lane,
					       uint32_t m)
{
	if (sfs_order_is_single(o))
		return sfs_order_single(o, lane, m);
	return o->slices[o->lane_start[lane] + m];
}

/* How many slices all lanes have. */
static inline uint64_t sfs_order_slices(const struct sfs_order *o)
{
	return o->lane_start ? o->lane_start[o->n_lanes] : 0;
}

/* Bytes of memory that it takes. */
static inline uint64_t sfs_order_memory(const struct sfs_order *o)
{
	uint64_t n = ((uint64_t)o->n_lanes + 1) * sizeof *o->lane_start;

	if (sfs_order_is_single(o))
		return n + sfs_numbering_memory(&o->numbering) +
		       sfs_grid_memory(&o->grid);
	n += sfs_order_slices(o) * sizeof *o->slices;
	if (sfs_order_is_dealt(o))
		n += (o->cuts ? 2 : 1) * sfs_order_slices(o) * sizeof *o->bases +
		     o->n_lanes * sizeof *o->paces;
	return n;
}

/* Is the m-th slice of the lane a block of its own, whatever its place?  All single
 * samples are; of other equal lanes the first, the last, and one that is repeated: one
 * sample each.
 */
static inline bool sfs_order_is_alone(const struct sfs_order *o, uint32_t lane,
				      uint32_t m)
{
	uint32_t n = sfs_order_lane_slices(o, lane);

	n += (lane == o->shortened) - (lane == o->repeating);
	return sfs_order_is_single(o) || (o->has_equal_lanes && (m == 0 || m + 1 >= n));
}

/* A permutation of the n segments 0, 1, ...; the caller frees it. */
uint32_t *sfs_order_permute(const struct sfs_order *o, uint32_t n);

/* With equal lanes: at which of the n > 0 samples of the segments, end to end, the first
 * lane begins. */
uint64_t sfs_order_turn(const struct sfs_order *o, uint64_t n);

/* C of section 4: the bytes of a piece, with n_lanes in use. */
uint64_t sfs_order_c(const struct sfs_order_settings *settings, uint64_t n_lanes);

/* The place in a dealt lane where its m-th slice begins; with m the number of its slices,
 * where it ends. */
static inline uint64_t sfs_order_base(const struct sfs_order *o, uint32_t lane,
				      uint32_t m)
{
	return m < sfs_order_lane_slices(o, lane) ? o->bases[o->lane_start[lane] + m]
						  : o->paces[lane].n_bytes;
}

/* The place in a dealt lane of byte `offset` of the shard of slice i (of all slices), not
 * before its stretch begins; and the other way round. */
static inline uint64_t sfs_order_place_of(const struct sfs_order *o, size_t i,
					  uint64_t offset)
{
	return o->bases[i] + (o->cuts ? offset - o->cuts[i] : offset);
}

static inline uint64_t sfs_order_offset_of(const struct sfs_order *o, size_t i,
					   uint64_t place)
{
	return place - o->bases[i] + (o->cuts ? o->cuts[i] : 0);
}

/* Section 5: the time of a dealt lane's sample with this V, a sum of three places.  It
 * rises with V. */
uint64_t sfs_order_time(const struct sfs_order *o, uint32_t lane, uint64_t v);

/* The least V, a multiple of 512, whose time is not before `time`, which is at most
 * SFS_TIMES. */
uint64_t sfs_order_v_at(const struct sfs_order *o, uint32_t lane, uint64_t time);

/* When the byte at a place falls due: samples that begin there leave then, or a little
 * later.  In an equal lane it is an estimate, from the mean size of samples. */
uint64_t sfs_order_due(const struct sfs_order *o, uint32_t lane, uint64_t place);

/* The piece of a lane that holds a place, and the places where a piece begins and ends.
 * Places are in bytes: in a dealt lane, from the start of its first slice; in an equal
 * lane, of the extents before. */
uint64_t sfs_order_piece(const struct sfs_order *o, uint64_t place);
uint64_t sfs_order_piece_start(const struct sfs_order *o, uint64_t piece);
uint64_t sfs_order_piece_end(const struct sfs_order *o, uint64_t piece);

/* The order in which the n samples of a block leave: the t-th to leave is
 * sample perm[t]. */
void sfs_order_block(const struct sfs_order *o, uint32_t lane, uint64_t piece,
		     uint32_t *perm, size_t n);

#endif
