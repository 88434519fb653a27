/* SPDX-License-Identifier: MIT */
#include "stream/sizing.h"

#include "memory/budget.h"
#include "memory/slab.h"

#define PART_MAX	((uint64_t)4 << 20)
#define PARTS_MAX	((uint64_t)768 << 20) /* one part of each lane, all together */
#define IN_FLIGHT_LEAST ((uint64_t)32 << 20)
#define FIRST_NEAR	(4 * SFS_SLAB_BYTES)

static uint64_t in_slabs(uint64_t n)
{
	return n / SFS_SLAB_BYTES * SFS_SLAB_BYTES;
}

/* A third of what one lane may have; more is of no use to many lanes. */
static uint64_t part_max(uint64_t limit, uint64_t n_open_lanes)
{
	uint64_t n = limit / 3 < PARTS_MAX ? limit / 3 : PARTS_MAX;

	n /= n_open_lanes ? n_open_lanes : 1;
	return n < PART_MAX ? n : PART_MAX;
}

/* Near, half of that: a request costs little there.  From far, no more than a connection
 * brings in a second: where each loses packets, a large part would take many, and its
 * lane would hold up all others. */
uint64_t sfs_sizing_part(const struct sfs_netpath *p, uint64_t limit,
			 uint64_t n_open_lanes)
{
	uint64_t most = part_max(limit, n_open_lanes), n = most;

	if (!sfs_netpath_is_far(p))
		n = most / 2;
	else if (p->bytes_per_s)
		n = p->bytes_per_s / (uint64_t)p->n_parallel;
	n = n < most ? n : most;
	return in_slabs(n > SFS_BUDGET_LANE_FLOOR ? n : SFS_BUDGET_LANE_FLOOR);
}

/* From far a small one: the first sample comes when its part is whole. */
uint64_t sfs_sizing_first(const struct sfs_netpath *p)
{
	return sfs_netpath_is_far(p) ? SFS_SLAB_BYTES : FIRST_NEAR;
}

/* Somewhat more than the source has a use for, so that one is in line when another ends.
 * But no more bytes than four times what is on the path, and some: on a long one,
 * connections would only make each other lose packets; else they would only be memory,
 * and a line of two is enough.  Of a long one of which no rate is known yet, any number.
 */
uint32_t sfs_sizing_in_flight(const struct sfs_netpath *p, uint64_t part)
{
	uint64_t on_path = p->bytes_per_s / 1000000 * (sfs_netpath_latency_ns(p) / 1000);
	uint64_t n = (uint64_t)p->n_parallel,
		 most = (4 * on_path + IN_FLIGHT_LEAST) / part;
	uint64_t wanted = n + n / 2 + 4;

	if (sfs_netpath_is_long(p))
		most = p->bytes_per_s ? most : wanted;
	else
		most = most > n + 2 ? most : n + 2;
	return (uint32_t)(wanted < most ? wanted : most);
}

/* Near, its block, two slabs, and its share of what is on its way: then the next block is
 * whole when it is to be formed.  From far, the next block as well and four times that
 * share: others must last until the slowest part is here. */
uint64_t sfs_sizing_lane(const struct sfs_netpath *p, uint64_t n_lanes, uint64_t block,
			 uint64_t part)
{
	uint64_t share = sfs_sizing_in_flight(p, part) * part / n_lanes;

	if (sfs_netpath_is_far(p))
		return 2 * (block + SFS_SLAB_BYTES) + 4 * share;
	return block + 2 * SFS_SLAB_BYTES + share;
}

/* Some lanes have just got a part, others are about to.  And of a block, half has left in
 * the mean, but its slabs wait for the last sample of each. */
uint64_t sfs_sizing_stream(const struct sfs_netpath *p, uint64_t n_lanes, uint64_t block,
			   uint64_t part)
{
	uint64_t dead = block / 2 + SFS_SLAB_BYTES;

	return n_lanes * (sfs_sizing_lane(p, n_lanes, block, part) + dead + part / 2);
}
