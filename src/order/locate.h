/* SPDX-License-Identifier: MIT */
/* locate - finds the sample at byte X of an epoch by arithmetic over the tables.
 *
 * It reads no bytes and iterates over no epoch: lanes know the sums of their slices, so a
 * binary search finds the time of a byte.  If a table does not know enough yet, the
 * answer is the shard to scan next.  Pure; one thread.
 */
#ifndef SFS_LOCATE_H
#define SFS_LOCATE_H

#include "order/block.h"
#include "order/locate-known.h"
#include "order/locate-single.h"
#include "order/merge.h"
#include "order/spot.h"

#include <stdbool.h>
#include <stdint.h>

struct sfs_locator_lane; /* see locate.c */

struct sfs_locator {
	const struct sfs_order *order;
	bool is_single;
	struct sfs_single_locator single; /* if it is */
	struct sfs_known known;
	struct sfs_locator_lane *lanes;

	/* Where the lanes are at the spot that was stepped from last. */
	struct sfs_spot at;
	bool is_at, has_merge;
	struct sfs_merge merge; /* of what comes next of each lane */
};

/* `totals` gives the number and the sum of extents of all samples of a shard, with
 * tables->ctx; false: not known.  (They may be known without the table.) */
void sfs_locator_init(struct sfs_locator *map, const struct sfs_order *order,
		      const struct sfs_sample_tables *tables,
		      bool (*totals)(void *, uint32_t, uint64_t *, uint64_t *));
void sfs_locator_done(struct sfs_locator *map);

/* Bytes of memory that a locator of this order takes, without its blocks. */
uint64_t sfs_locator_memory(const struct sfs_order *order);

/* Find the sample that holds byte `offset`.
 * 0: *ret_spot.  -EAGAIN: shard *ret_shard must be scanned (further) first.  -EBADMSG:
 * the damage in shard *ret_shard comes before that byte. */
int sfs_locator_find(struct sfs_locator *map, uint64_t offset, struct sfs_spot *ret_spot,
		     uint32_t *ret_shard);

/* Find sample `number` of the epoch; past the last one, the end.  Errors as above; all
 * tables must be whole. */
int sfs_locator_nth(struct sfs_locator *map, uint64_t number, struct sfs_spot *ret_spot,
		    uint32_t *ret_shard);

/* How many samples come before a spot that find, nth, next or previous returned: in the
 * epoch, or in one of its lanes.  -EAGAIN: the table of shard *ret_shard was dropped. */
int sfs_locator_number(struct sfs_locator *map, const struct sfs_spot *spot,
		       uint64_t *ret_number, uint32_t *ret_shard);
int sfs_locator_lane_number(struct sfs_locator *map, const struct sfs_spot *spot,
			    uint32_t lane, uint64_t *ret_number, uint32_t *ret_shard);

/* The sample at a spot that find returned, or next or previous moved to.  It is valid
 * until the next call.  -EAGAIN: the table of shard *ret_shard was dropped. */
int sfs_locator_sample(struct sfs_locator *map, const struct sfs_spot *spot,
		       const struct sfs_block_sample **ret_sample, uint32_t *ret_shard);

/* Move to the next sample.  Errors as sfs_locator_find(). */
int sfs_locator_next(struct sfs_locator *map, struct sfs_spot *spot, uint32_t *ret_shard);

/* Move to the previous sample; spot->offset is lost.  -ENOENT: there is none.  -EAGAIN:
 * the table of shard *ret_shard was dropped. */
int sfs_locator_previous(struct sfs_locator *map, struct sfs_spot *spot,
			 uint32_t *ret_shard);

/* How many samples of a lane come before a time.  All tables must be whole; -EAGAIN: that
 * of shard *ret_shard was dropped. */
int sfs_locator_count(struct sfs_locator *map, uint32_t lane, uint64_t time,
		      uint64_t *ret_n, uint32_t *ret_shard);

/* Set *ret_block to the block of lane `lane` that holds its sample `number`, as that
 * block's sample number - ret_block->first, and *ret_lane to continue after that block.
 * -ENODATA: the lane has no such sample.  Other errors as sfs_locator_find(). */
int sfs_locator_seek(struct sfs_locator *map, uint32_t lane, uint64_t number,
		     struct sfs_lane *ret_lane, struct sfs_block *ret_block,
		     uint32_t *ret_shard);

#endif
