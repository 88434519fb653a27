/* SPDX-License-Identifier: MIT */
/* sizing - how much of a stream one part requests, how many parts are in flight, and with
 * how much ahead a lane has enough.
 *
 * All memory that a stream holds beyond its blocks follows from these few sizes.  Memory
 * costs time: it is touched for the first time while a reader waits for the first sample.
 * So over a near path, sizes are as small as keeps the source busy.  Over a far path they
 * are larger, because the slowest of many parts takes several times as long as most.
 *
 * Pure.  All sizes are in bytes; parts are whole slabs.
 */
#ifndef SFS_SIZING_H
#define SFS_SIZING_H

#include "source/netpath.h"

#include <stdint.h>

/* The size of a part, with a budget of `limit` and n_open_lanes lanes of all streams. */
uint64_t sfs_sizing_part(const struct sfs_netpath *path, uint64_t limit,
			 uint64_t n_open_lanes);

/* The size of a lane's first part; each next part is as large as all
 * before it together. */
uint64_t sfs_sizing_first(const struct sfs_netpath *path, uint32_t lane);

/* The size of the first chunk of single samples. */
uint64_t sfs_sizing_first_chunk(const struct sfs_netpath *path);

/* How many requests of a stream may be in flight, with parts of that size. */
uint32_t sfs_sizing_in_flight(const struct sfs_netpath *path, uint64_t part);

/* What a lane needs ahead at any pace, with blocks of size `block`; and what all lanes
 * together need beyond that, each in proportion to its pace. */
uint64_t sfs_sizing_margin(const struct sfs_netpath *path, uint64_t block);
uint64_t sfs_sizing_lead(const struct sfs_netpath *path, uint64_t part);

/* The sum for one of n_lanes of equal pace. */
uint64_t sfs_sizing_lane(const struct sfs_netpath *path, uint64_t n_lanes, uint64_t block,
			 uint64_t part);

/* How much a stream of such lanes may hold: about what it holds on average when all lanes
 * have enough.  Without this bound, fluctuation sets a new high-water mark every few
 * minutes. */
uint64_t sfs_sizing_stream(const struct sfs_netpath *path, uint64_t n_lanes,
			   uint64_t block, uint64_t part);

/* The largest chunk of single samples in an account that may hold `share` bytes.  A
 * stream of them holds two. */
uint64_t sfs_sizing_chunk(uint64_t share);

#endif
