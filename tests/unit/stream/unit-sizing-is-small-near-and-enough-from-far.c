/* SPDX-License-Identifier: MIT */
/* Near, a stream holds its blocks and little more; from far, and from a near server that
 * takes long to begin, what fills the path and lasts until the slowest part is here.
 * Nobody is asked for more than is of use, and always for somewhat more than runs. */
#include "base/alloc.h"
#include "base/clock.h"
#include "check.h"
#include "memory/slab.h"
#include "memory/budget.h"
#include "stream/prefetch/sizing.h"

#define KIB	 ((uint64_t)1 << 10)
#define MIB	 ((uint64_t)1 << 20)
#define BUFFER	 (64 * MIB)
#define MB_PER_S ((uint64_t)1000000)

static const struct sfs_netpath disk = {.n_parallel = 8};
static const struct sfs_netpath loopback = {.n_parallel = 12,
					    .rtt_ns = 50000,
					    .wait_ns = 200000,
					    .bytes_per_s = 4000 * MB_PER_S};
static const struct sfs_netpath near_store = {.n_parallel = 12,
					      .rtt_ns = 50000,
					      .wait_ns = 500000,
					      .bytes_per_s = 1500 * MB_PER_S,
					      .has_costly_requests = true};
static const struct sfs_netpath lan = {.n_parallel = 6,
				       .rtt_ns = 300000,
				       .wait_ns = 500000,
				       .bytes_per_s = 240 * MB_PER_S};
static const struct sfs_netpath store = {.n_parallel = 64,
					 .rtt_ns = 500000,
					 .wait_ns = 30 * SFS_NS_PER_MS,
					 .bytes_per_s = 1500 * MB_PER_S};
static const struct sfs_netpath ocean = {.n_parallel = 48,
					 .rtt_ns = 150 * SFS_NS_PER_MS,
					 .wait_ns = 151 * SFS_NS_PER_MS,
					 .bytes_per_s = 240 * MB_PER_S};
static const struct sfs_netpath unknown = {.n_parallel = 16,
					   .rtt_ns = 150 * SFS_NS_PER_MS};

static void parts_are_slabs_that_the_budget_has_room_for(void)
{
	uint64_t limit, lanes, part, near;

	for (limit = MIB; limit <= 64 * 1024 * MIB; limit *= 4) {
		for (lanes = 0; lanes <= 4096; lanes = lanes ? 2 * lanes : 1) {
			part = sfs_sizing_part(&unknown, limit, lanes);
			CHECK_EQ(part % SFS_SLAB_BYTES, 0);
			CHECK(part >= SFS_BUDGET_LANE_FLOOR);
			CHECK(part <= 4 * MIB);
			CHECK(part == SFS_BUDGET_LANE_FLOOR || 3 * part * lanes <= limit);
			CHECK(part == SFS_BUDGET_LANE_FLOOR || part * lanes <= 768 * MIB);
			near = sfs_sizing_part(&disk, limit, lanes);
			CHECK_EQ(near % SFS_SLAB_BYTES, 0);
			CHECK(near == SFS_BUDGET_LANE_FLOOR || 2 * near <= part);
			CHECK(near == SFS_BUDGET_LANE_FLOOR || near * lanes <= 192 * MIB);
		}
	}
	CHECK_EQ(sfs_sizing_part(&unknown, 4096 * MIB, 384), 2 * MIB);
	CHECK_EQ(sfs_sizing_part(&loopback, 4096 * MIB, 384), 3 * MIB / 8);
	CHECK_EQ(sfs_sizing_part(&unknown, 4096 * MIB, 20), 4 * MIB);
	/* A store that is near: large where there are few lanes, and no more memory for many. */
	CHECK_EQ(sfs_sizing_part(&loopback, 4096 * MIB, 20), 2 * MIB);
	CHECK_EQ(sfs_sizing_part(&near_store, 4096 * MIB, 20), 4 * MIB);
	CHECK_EQ(sfs_sizing_part(&near_store, 4096 * MIB, 384), 3 * MIB / 8);
}

static uint64_t part(const struct sfs_netpath *path, uint64_t lanes)
{
	return sfs_sizing_part(path, 4096 * MIB, lanes);
}

static void slow_connections_get_small_parts(void)
{
	struct sfs_netpath lossy = ocean;

	CHECK_EQ(part(&ocean, 20), 4 * MIB);
	lossy.n_parallel = 64;
	lossy.bytes_per_s = 20 * MB_PER_S;
	CHECK_EQ(part(&lossy, 20), 256 * KIB);
	lossy.bytes_per_s = 64 * MB_PER_S;
	CHECK(part(&lossy, 20) <= MB_PER_S);
	CHECK_EQ(part(&lossy, 20) % SFS_SLAB_BYTES, 0);
	lossy.bytes_per_s = 0; /* not known */
	CHECK_EQ(part(&lossy, 20), 4 * MIB);
	CHECK_EQ(part(&lan, 20), 2 * MIB);
}

/* One is in line when another ends: else nobody sees whether more are of use. */
static void more_are_asked_for_than_run(void)
{
	static const struct sfs_netpath *const paths[] = {&disk, &loopback, &lan, &store,
							  &unknown};
	uint64_t part;
	size_t i;

	for (i = 0; i < SFS_COUNT(paths); i++)
		for (part = 256 * KIB; part <= 4 * MIB; part *= 2) {
			CHECK(sfs_sizing_in_flight(paths[i], part) >
			      (uint32_t)paths[i]->n_parallel);
			CHECK(sfs_sizing_in_flight(paths[i], part) <=
			      (uint32_t)paths[i]->n_parallel * 3 / 2 + 4);
		}
}

static void no_more_bytes_than_are_of_use(void)
{
	CHECK(sfs_sizing_in_flight(&disk, 4 * MIB) * 4 * MIB <= 40 * MIB);
	CHECK(sfs_sizing_in_flight(&lan, 4 * MIB) * 4 * MIB <= 32 * MIB);
	/* 36 MB are on that path. */
	CHECK(sfs_sizing_in_flight(&ocean, 4 * MIB) * 4 * MIB <= 4 * 36 * MIB + 32 * MIB);
	CHECK(sfs_sizing_in_flight(&ocean, 4 * MIB) * 4 * MIB >= 2 * 36 * MIB);
}

static uint64_t stream(const struct sfs_netpath *path, uint64_t lanes)
{
	return sfs_sizing_stream(path, lanes, BUFFER / lanes, part(path, lanes));
}

static void near_streams_hold_little(void)
{
	CHECK(stream(&disk, 384) < 350 * MIB);
	CHECK(stream(&loopback, 384) < 350 * MIB);
	CHECK(stream(&disk, 20) < 170 * MIB);
	CHECK(stream(&loopback, 20) < 180 * MIB);
	CHECK(stream(&lan, 20) < 180 * MIB);
}

/* The blocks that leave, all slabs of theirs that wait for their last sample, and what is
 * ahead, which may be anything between enough and a part more. */
static void streams_may_hold_what_their_lanes_do(void)
{
	static const struct sfs_netpath *const paths[] = {&disk, &loopback, &lan, &store,
							  &ocean};
	uint64_t lanes, n, block;
	size_t i;

	for (i = 0; i < SFS_COUNT(paths); i++)
		for (lanes = 1; lanes <= 384; lanes += 13)
			for (block = BUFFER / lanes; block <= 512 * MIB; block *= 4) {
				n = part(paths[i], lanes);
				CHECK(sfs_sizing_stream(paths[i], lanes, block, n) >=
				      lanes * (sfs_sizing_lane(paths[i], lanes, block,
							       n) +
					       block / 2 + n / 2));
			}
}

static void far_is_what_takes_long_to_begin(void)
{
	CHECK(!sfs_netpath_is_far(&disk) && !sfs_netpath_is_long(&disk));
	CHECK(!sfs_netpath_is_far(&lan) && !sfs_netpath_is_long(&lan));
	CHECK(sfs_netpath_is_far(&store) && !sfs_netpath_is_long(&store));
	CHECK(sfs_netpath_is_far(&ocean) && sfs_netpath_is_long(&ocean));
	CHECK(sfs_netpath_is_far(&unknown) && sfs_netpath_is_long(&unknown));
	CHECK_EQ(sfs_sizing_first(&store, 20), SFS_SLAB_BYTES);
	CHECK(sfs_sizing_first(&store, 0) > SFS_SLAB_BYTES);
	CHECK(sfs_sizing_first(&loopback, 20) > SFS_SLAB_BYTES);
	CHECK_EQ(sfs_sizing_first(&loopback, 0), sfs_sizing_first(&loopback, 20));
}

/* The next block is whole when one is used up; from far it lasts for some answers. */
static void lanes_have_the_next_block_in_time(void)
{
	uint64_t block = BUFFER / 384, far;

	CHECK(sfs_sizing_lane(&loopback, 384, block, 2 * MIB) >=
	      block + 2 * SFS_SLAB_BYTES);
	far = 384 * sfs_sizing_lane(&store, 384, block, 2 * MIB);
	CHECK(far - 2 * BUFFER >= store.bytes_per_s / 1000 * 4 * 30);
	far = 384 * sfs_sizing_lane(&ocean, 384, block, 2 * MIB);
	CHECK(far - 2 * BUFFER >= ocean.bytes_per_s / 1000 * 4 * 150);
}

int main(void)
{
	parts_are_slabs_that_the_budget_has_room_for();
	slow_connections_get_small_parts();
	more_are_asked_for_than_run();
	no_more_bytes_than_are_of_use();
	near_streams_hold_little();
	streams_may_hold_what_their_lanes_do();
	far_is_what_takes_long_to_begin();
	lanes_have_the_next_block_in_time();
	return 0;
}
