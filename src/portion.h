/* SPDX-License-Identifier: MIT */
/* portion - how much of a stream is asked for at a time, how much of that is on its way
 * at once, and with how much ahead of it a lane has enough.
 *
 * All memory that a stream holds beyond its blocks follows from these few sizes, and what
 * is held is paid for: it is touched for the first time while a reader waits for the
 * first sample.  So near, as little as keeps the source busy; from far, more, since there
 * the slowest of many parts takes some times as long as most.
 *
 * Pure.  All sizes are in bytes; parts are whole slabs.
 */
#ifndef SFS_PORTION_H
#define SFS_PORTION_H

#include <stdbool.h>
#include <stdint.h>

#define SFS_FAR_NS     5000000ULL /* a round trip: from here on a path is long */
#define SFS_LANE_FLOOR ((uint64_t)256 << 10) /* of budget: what a lane must have */

/* What a source says of the ways to its servers: how many reads at a time are of use, >=
 * 1; the round-trip time to the farthest, and the shortest time to a first byte, of late,
 * of the one that takes longest; what comes in a second when as many as may are running.
 * 0: not known, or none. */
struct sfs_path {
	int n_parallel;
	uint64_t rtt_ns, wait_ns, bytes_per_s;
};

/* Does it take long to a first byte?  A server that is near and slow to answer, as S3 is,
 * counts as far. */
bool sfs_path_is_far(const struct sfs_path *path);

/* Is it the way that is long?  Only that loses packets, and brings bytes in gusts. */
bool sfs_path_is_long(const struct sfs_path *path);

/* How large a part should be now, with a budget of `limit` and so many lanes open in all.
 */
uint64_t sfs_portion_part(const struct sfs_path *path, uint64_t limit,
			  uint64_t n_open_lanes);

/* How large the first part of a lane is; each next one is as large as all before. */
uint64_t sfs_portion_first(const struct sfs_path *path);

/* How many requests of a stream may be on their way, with parts of that size. */
uint32_t sfs_portion_on_way(const struct sfs_path *path, uint64_t part);

/* With how much ahead of it a lane has enough, one of n_lanes whose blocks are of
 * `block`. */
uint64_t sfs_portion_lane(const struct sfs_path *path, uint64_t n_lanes, uint64_t block,
			  uint64_t part);

/* And what a stream of such lanes may hold: about what it holds in the mean when all of
 * them have enough.  More than that is only chance, and chance would find a new height
 * every few minutes. */
uint64_t sfs_portion_stream(const struct sfs_path *path, uint64_t n_lanes, uint64_t block,
			    uint64_t part);

#endif
