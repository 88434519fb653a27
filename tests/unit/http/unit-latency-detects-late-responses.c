/* SPDX-License-Identifier: MIT */
/* One answer in a hundred is late, of those of its size, of late. */
#include "base/clock.h"
#include "check.h"
#include "source/http/latency.h"

#define MIB ((uint64_t)1 << 20)

static void add(struct sfs_latency *t, uint64_t n_bytes, uint64_t ms, int n)
{
	while (n-- > 0)
		sfs_latency_add(t, n_bytes, ms * SFS_NS_PER_MS);
}

static void needs_enough(void)
{
	struct sfs_latency t = {0};

	CHECK_EQ(sfs_latency_late_ns(&t, MIB), 0);
	add(&t, MIB, 10, 7);
	CHECK_EQ(sfs_latency_late_ns(&t, MIB), 0);
	CHECK_EQ(sfs_latency_median_ns(&t, MIB), 0);
	/* Of few, the longest. */
	add(&t, MIB, 500, 1);
	CHECK(sfs_latency_late_ns(&t, MIB) >= 500 * SFS_NS_PER_MS);
	CHECK(sfs_latency_median_ns(&t, MIB) >= 500 * SFS_NS_PER_MS);
	add(&t, MIB, 10, 55);
	CHECK(sfs_latency_median_ns(&t, MIB) >= 500 * SFS_NS_PER_MS);
	add(&t, MIB, 10, 1);
	CHECK(sfs_latency_median_ns(&t, MIB) <= 11 * SFS_NS_PER_MS);
	add(&t, MIB, 10, 128);
	CHECK(sfs_latency_late_ns(&t, MIB) >= 10 * SFS_NS_PER_MS);
	CHECK(sfs_latency_late_ns(&t, MIB) <= 11 * SFS_NS_PER_MS);
	CHECK_EQ(sfs_latency_late_ns(&t, 4 * MIB), 0); /* may take longer */
	CHECK_EQ(sfs_latency_late_ns(&t, MIB / 4),
		 sfs_latency_late_ns(&t, MIB)); /* may not */
}

/* Of 128 answers one may be slower than what is late. */
static void leaves_one_out(void)
{
	struct sfs_latency t = {0};

	add(&t, MIB, 10, 127);
	add(&t, MIB, 5000, 1);
	CHECK(sfs_latency_late_ns(&t, MIB) <= 11 * SFS_NS_PER_MS);
	add(&t, MIB, 10, 119);
	add(&t, MIB, 700, 9); /* more often, and it is how the server is */
	CHECK(sfs_latency_late_ns(&t, MIB) >= 700 * SFS_NS_PER_MS);
	CHECK(sfs_latency_median_ns(&t, MIB) <= 11 * SFS_NS_PER_MS);
}

static void forgets(void)
{
	struct sfs_latency t = {0};

	add(&t, MIB, 900, 1000);
	add(&t, MIB, 20, 128);
	CHECK(sfs_latency_late_ns(&t, MIB) <= 21 * SFS_NS_PER_MS);
}

static void sizes_are_powers_of_two(void)
{
	struct sfs_latency t = {0};

	add(&t, 0, 1, 64);
	add(&t, MIB, 2, 64);
	add(&t, UINT64_MAX, 3, 64);
	CHECK_EQ(sfs_latency_late_ns(&t, 16383), sfs_latency_late_ns(&t, 0));
	CHECK_EQ(sfs_latency_late_ns(&t, 2 * MIB - 1), sfs_latency_late_ns(&t, MIB));
	CHECK(sfs_latency_late_ns(&t, 16383) < sfs_latency_late_ns(&t, 16384));
	CHECK(sfs_latency_late_ns(&t, 2 * MIB) > sfs_latency_late_ns(&t, MIB));
	CHECK(sfs_latency_late_ns(&t, UINT64_MAX / 2) > sfs_latency_late_ns(&t, MIB));
	add(&t, 100, UINT64_MAX / SFS_NS_PER_MS, 128); /* whatever a clock says */
	CHECK(sfs_latency_late_ns(&t, 100) > SFS_NS_PER_S);
}

int main(void)
{
	needs_enough();
	leaves_one_out();
	forgets();
	sizes_are_powers_of_two();
	return 0;
}
