/* SPDX-License-Identifier: MIT */
#include "stream/prefetch/sizing.h"

#include "memory/budget.h"
#include "memory/slab.h"

#define PART_MAX	((uint64_t)4 << 20)
#define PARTS_FAR	((uint64_t)768 << 20) /* one part of each lane, together */
#define PARTS_NEAR	((uint64_t)144 << 20) /* half of each is held, on average */
#define IN_FLIGHT_LEAST ((uint64_t)32 << 20)
#define CHUNK_MOST	((uint64_t)64 << 20)
#define FIRST_NEAR	(4 * SFS_SLAB_BYTES)
#define FIRST_FAR	(3 * SFS_SLAB_BYTES)
#define FIRST_LANES	4

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t in_slabs(uint64_t n)
{
	return n / SFS_SLAB_BYTES * SFS_SLAB_BYTES;
}

/* A third of what one lane may have, and no more than is of use to many lanes; near,
 * where a request costs little, a sixth, and at most half as much.  Far, no more than a
 * connection brings in a second, too: if connections lose packets, a large part would
 * take many seconds, and all other lanes would wait for its lane. */
uint64_t sfs_sizing_part(const struct sfs_netpath *p, uint64_t limit,
			 uint64_t n_open_lanes)
{
	bool is_far = sfs_netpath_is_far(p), is_large = is_far || p->has_costly_requests;
	uint64_t n = least(limit / (is_far ? 3 : 6), is_far ? PARTS_FAR : PARTS_NEAR);

	n = least(n / (n_open_lanes ? n_open_lanes : 1),
		  is_large ? PART_MAX : PART_MAX / 2);
	if (is_far && p->bytes_per_s)
		n = least(n, p->bytes_per_s / (uint64_t)p->n_parallel);
	return in_slabs(n > SFS_BUDGET_LANE_FLOOR ? n : SFS_BUDGET_LANE_FLOOR);
}

/* Over a far path a small one: the first sample is there when it is. */
uint64_t sfs_sizing_first_chunk(const struct sfs_netpath *p)
{
	return sfs_netpath_is_far(p) ? SFS_SLAB_BYTES : FIRST_NEAR;
}

/* The same, but over a far path a reader waits first for the first few lanes, one after
 * the other, and what they lack of a sample or a block costs a round trip each time.  So
 * these bring as much as the first round trip brings over all new connections. */
uint64_t sfs_sizing_first(const struct sfs_netpath *p, uint32_t lane)
{
	bool is_awaited = sfs_netpath_is_far(p) && lane < FIRST_LANES;

	return is_awaited ? FIRST_FAR : sfs_sizing_first_chunk(p);
}

/* Somewhat more than the source has a use for, so that one waits when another ends.  But
 * about four times what the path holds at most: over a long path, more connections only
 * make each other lose packets; over others they only cost memory, and two that wait are
 * enough.  Over a long path whose rate is not known yet, there is no such bound. */
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

/* Over a near path: its block and two slabs.  Then the next block is here when it is to
 * be formed.  Over a far path also the next block. */
uint64_t sfs_sizing_margin(const struct sfs_netpath *p, uint64_t block)
{
	if (sfs_netpath_is_far(p))
		return 2 * (block + SFS_SLAB_BYTES);
	return block + 2 * SFS_SLAB_BYTES;
}

/* Over a near path: as much as is in flight.  Over a far path four times that: it must
 * last until the slowest part of another lane is here. */
uint64_t sfs_sizing_lead(const struct sfs_netpath *p, uint64_t part)
{
	uint64_t in_flight = sfs_sizing_in_flight(p, part) * part;

	return sfs_netpath_is_far(p) ? 4 * in_flight : in_flight;
}

uint64_t sfs_sizing_lane(const struct sfs_netpath *p, uint64_t n_lanes, uint64_t block,
			 uint64_t part)
{
	return sfs_sizing_margin(p, block) + sfs_sizing_lead(p, part) / n_lanes;
}

/* Some lanes have just got a part, others will soon.  And half of a block has left on
 * average, but its slabs wait for the last sample of each. */
uint64_t sfs_sizing_stream(const struct sfs_netpath *p, uint64_t n_lanes, uint64_t block,
			   uint64_t part)
{
	uint64_t dead = block / 2 + SFS_SLAB_BYTES;

	return n_lanes * (sfs_sizing_lane(p, n_lanes, block, part) + dead + part / 2);
}

uint64_t sfs_sizing_chunk(uint64_t share)
{
	return share / 4 < CHUNK_MOST ? share / 4 : CHUNK_MOST;
}
