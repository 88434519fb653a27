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
#ifndef SFS_SIZING_H
#define SFS_SIZING_H

#include "source/netpath.h"

#include <stdint.h>

/* How large a part should be now, with a budget of `limit` and so many lanes open in all.
 */
uint64_t sfs_sizing_part(const struct sfs_netpath *path, uint64_t limit,
			 uint64_t n_open_lanes);

/* How large the first part of a lane is; each next one is as large as all before. */
uint64_t sfs_sizing_first(const struct sfs_netpath *path);

/* How many requests of a stream may be on their way, with parts of that size. */
uint32_t sfs_sizing_in_flight(const struct sfs_netpath *path, uint64_t part);

/* With how much ahead of it a lane has enough, one of n_lanes whose blocks are of
 * `block`. */
uint64_t sfs_sizing_lane(const struct sfs_netpath *path, uint64_t n_lanes, uint64_t block,
			 uint64_t part);

/* And what a stream of such lanes may hold: about what it holds in the mean when all of
 * them have enough.  More than that is only chance, and chance would find a new height
 * every few minutes. */
uint64_t sfs_sizing_stream(const struct sfs_netpath *path, uint64_t n_lanes,
			   uint64_t block, uint64_t part);

#endif
