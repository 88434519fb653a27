/* SPDX-License-Identifier: MIT */
/* merge - which lane is next: the one with the least time, and of these the least lane.
 *
 * A heap of lanes.  Pure.
 */
#ifndef SFS_MERGE_H
#define SFS_MERGE_H

#include <stdbool.h>
#include <stdint.h>

struct sfs_merge {
	uint64_t *heap; /* time << 16 | lane; see SFS_LANES_MAX */
	uint32_t n;	/* lanes in it */
};

/* Room for n_lanes; without any yet. */
void sfs_merge_init(struct sfs_merge *merge, uint32_t n_lanes);
void sfs_merge_done(struct sfs_merge *merge);

/* Add a lane, which must not be in it; time < 2^48. */
void sfs_merge_add(struct sfs_merge *merge, uint32_t lane, uint64_t time);

/* The next lane, if n > 0, and its time. */
static inline uint32_t sfs_merge_lane(const struct sfs_merge *merge)
{
	return (uint32_t)(merge->heap[0] & 0xffff);
}

static inline uint64_t sfs_merge_time(const struct sfs_merge *merge)
{
	return merge->heap[0] >> 16;
}

/* That lane's time is now this; it does not fall.  SFS_NEVER takes the lane out. */
void sfs_merge_set(struct sfs_merge *merge, uint64_t time);

#endif
