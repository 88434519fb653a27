/* SPDX-License-Identifier: MIT */
/* block - the samples of one lane, block after block, from the tables.
 *
 * A lane is a sequence of slices of segments.  It is cut into pieces by bytes; the
 * samples of a piece are a block and leave in shuffled order, each at its time.  A block
 * is formed from the tables of its shards, as far as these have grown; nothing is read
 * here.  Pure.
 */
#ifndef SFS_BLOCK_H
#define SFS_BLOCK_H

#include "order/order.h"
#include "order/samples.h"

#include <stdbool.h>
#include <stdint.h>

/* How a lane gets tables: get() returns the table of a shard, or NULL if it is not in
 * memory.  The table must stay while the lane is at that shard. */
struct sfs_sample_tables {
	void *ctx;
	const struct sfs_sample_table *(*get)(void *ctx, uint32_t shard);
	/* The bytes of a shard, 0 if it is missing: for sfs_partition(). */
	uint64_t (*size)(void *ctx, uint32_t shard);
};

struct sfs_block_sample {
	uint32_t shard;
	uint32_t m; /* the lane's slice */
	bool has_global;
	bool is_unverified; /* its table is; see samples.h */
	uint32_t index;	    /* in the shard's table */
	uint64_t start, n_bytes;
	uint64_t key_hash;
};

struct sfs_block {
	uint64_t piece, end_place;	  /* its number, and the place where it ends */
	uint64_t first;			  /* the number in the lane of its first sample */
	size_t n, capacity;		  /* n leave; one more may be dropped */
	struct sfs_block_sample *samples; /* in the order of the shards */
	uint32_t *perm;			  /* the t-th to leave is samples[perm[t]] */
	uint64_t *times;		  /* of the t-th to leave */
};

struct sfs_lane {
	const struct sfs_order *order;
	uint32_t lane;

	/* The next sample that no block has taken. */
	uint32_t m;	  /* its slice */
	uint64_t index;	  /* its number in that shard's table */
	uint64_t base;	  /* the place where that begins */
	uint64_t number;  /* its number in the lane */
	uint64_t ends[3]; /* of a dealt lane: the places where the samples before it end,
			   * the nearest last; those of other slices count as the base */
};

/* The index after the last sample of a slice in the shard's table of n_table samples. */
static inline uint64_t sfs_slice_end(const struct sfs_slice *slice, uint64_t n_table)
{
	return slice->n == SFS_SLICE_ALL ? n_table : (uint64_t)slice->first + slice->n;
}

void sfs_lane_init(struct sfs_lane *lane, const struct sfs_order *order, uint32_t number);

/* Set the ends, after the other fields were set to some sample of the shard with this
 * table. */
void sfs_lane_set_ends(struct sfs_lane *lane, const struct sfs_sample_table *table);

/* Form the next block of the lane in *block, which was zeroed or used before.
 *
 * 0: it has n > 0 samples, and perm is set.  -EAGAIN: the table of shard *ret_shard must
 * grow first; call again with the same block.  -ENODATA: the lane has ended.  -EBADMSG:
 * shard *ret_shard is damaged before the block is whole, for good. */
int sfs_lane_form(struct sfs_lane *lane, const struct sfs_sample_tables *tables,
		  struct sfs_block *block, uint32_t *ret_shard);

/* The earliest time of the next sample to leave the lane, as far as sfs_lane_form() has
 * got; `forming` is the block that it could not finish, or an empty one.  It rises with
 * what the tables know.  SFS_NEVER: the lane has ended. */
uint64_t sfs_lane_time(const struct sfs_lane *lane, const struct sfs_block *forming);

/* Empty the block; it may be formed again. */
void sfs_block_clear(struct sfs_block *block);
void sfs_block_done(struct sfs_block *block);

static inline const struct sfs_block_sample *sfs_block_at(const struct sfs_block *b,
							  size_t t)
{
	return &b->samples[b->perm[t]];
}

#endif
