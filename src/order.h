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

#include <stddef.h>
#include <stdint.h>

struct sfs_order {
	uint64_t seed, epoch;
	uint32_t n_segments;
	uint32_t n_lanes;     /* in use: no more than segments */
	uint64_t piece_bytes; /* C */
	uint32_t *shards; /* segment i is shard shards[i]; it is in lane i % n_lanes */
};

/* The order of one epoch of n_shards, dealt to at most `lanes` lanes, shuffled
 * within `buffer_bytes` in all.  lanes > 0. */
void sfs_order_init(struct sfs_order *o, uint64_t seed, uint64_t epoch, uint32_t n_shards,
		    uint32_t lanes, uint64_t buffer_bytes);
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
