/* SPDX-License-Identifier: MIT */
/* order - the published function that says which sample comes when.
 *
 * docs/ORDER.md is the specification; this is rules 1 to 4 of it for whole
 * shards: the permutation of the segments, who of them is in which lane, where a
 * lane is cut into pieces, how the samples of a piece (a block) are shuffled.
 * Pure: depends on its arguments and nothing else, and may never change.
 */
#ifndef SFS_ORDER_H
#define SFS_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whose part of an epoch: its lanes first, first + step, and so on.  The whole epoch
 * is {0, 1}. */
struct sfs_share {
	uint64_t first, step;
};

static inline bool sfs_share_equal(struct sfs_share a, struct sfs_share b)
{
	return a.first == b.first && a.step == b.step;
}

/* One part of an epoch, as if it were all: its lanes are numbered from 0. */
struct sfs_order {
	uint64_t seed, epoch;
	struct sfs_share share;
	uint32_t n_segments;
	uint32_t n_lanes;     /* in use: no more than segments, and perhaps none */
	uint64_t piece_bytes; /* C */
	uint32_t *shards; /* segment i is shard shards[i]; it is in lane i % n_lanes */
};

#define SFS_LANES_MAX 65536

struct sfs_order_settings {
	uint64_t seed;
	uint32_t lanes;	       /* > 0 */
	uint64_t buffer_bytes; /* within which samples are shuffled, in all lanes */
};

/* The order of a part of one epoch of n_shards. */
void sfs_order_init(struct sfs_order *o, const struct sfs_order_settings *settings,
		    uint64_t epoch, uint32_t n_shards, struct sfs_share share);
void sfs_order_done(struct sfs_order *o);

/* How many segments a lane has, and the shard of its m-th. */
uint32_t sfs_order_lane_segments(const struct sfs_order *o, uint32_t lane);
static inline uint32_t sfs_order_lane_shard(const struct sfs_order *o, uint32_t lane,
					    uint32_t m)
{
	return o->shards[lane + (size_t)m * o->n_lanes];
}

/* The piece of a lane in which a place (a sum of extents, bytes) lies, and where
 * that piece begins and ends. */
uint64_t sfs_order_piece(const struct sfs_order *o, uint64_t place);
uint64_t sfs_order_piece_start(const struct sfs_order *o, uint64_t piece);
uint64_t sfs_order_piece_end(const struct sfs_order *o, uint64_t piece);

/* The order in which the n samples of a block leave: the t-th is sample perm[t]. */
void sfs_order_block(const struct sfs_order *o, uint32_t lane, uint64_t piece,
		     uint32_t *perm, size_t n);

#endif
