/* SPDX-License-Identifier: MIT */
/* The lane that is next has the least time, and of those that have it the least number;
 * however times rise, and whichever lanes end. */
#include "base/alloc.h"
#include "base/rng.h"
#include "check.h"
#include "order/merge.h"
#include "order/order.h"

#define MOST 300

static uint64_t times[MOST]; /* SFS_NEVER: not in it */

static uint32_t least(uint32_t n)
{
	uint32_t l, found = 0;

	for (l = 1; l < n; l++)
		if (times[l] < times[found])
			found = l;
	return found;
}

static void check(struct sfs_rng *r, uint32_t n, uint64_t most_step)
{
	struct sfs_merge merge;
	uint32_t l, n_left = n;

	sfs_merge_init(&merge, n);
	for (l = n; l-- > 0;) {
		times[l] = sfs_rng_below(r, most_step);
		sfs_merge_add(&merge, l, times[l]);
	}
	while (n_left > 0) {
		CHECK_EQ(merge.n, n_left);
		l = least(n);
		CHECK_EQ(sfs_merge_lane(&merge), l);
		CHECK_EQ(sfs_merge_time(&merge), times[l]);
		times[l] += sfs_rng_below(r, most_step); /* perhaps by nothing */
		if (sfs_rng_below(r, 20) == 0) {
			times[l] = SFS_NEVER;
			n_left--;
		}
		sfs_merge_set(&merge, times[l]);
	}
	CHECK_EQ(merge.n, 0);
	sfs_merge_done(&merge);
}

int main(void)
{
	static const uint32_t counts[] = {0, 1, 2, 3, 7, 64, MOST};
	static const uint64_t steps[] = {1, 2, 1000, 1ULL << 36};
	struct sfs_rng r = {5};
	struct sfs_merge merge;
	size_t i, k;

	for (i = 0; i < SFS_COUNT(counts); i++)
		for (k = 0; k < SFS_COUNT(steps); k++)
			check(&r, counts[i], steps[k]);

	/* The most lanes, and late times. */
	sfs_merge_init(&merge, 2);
	sfs_merge_add(&merge, SFS_LANES_MAX - 1, (1ULL << 48) - 1);
	sfs_merge_add(&merge, 0, (1ULL << 48) - 1);
	CHECK_EQ(sfs_merge_lane(&merge), 0);
	sfs_merge_set(&merge, SFS_NEVER);
	CHECK_EQ(sfs_merge_lane(&merge), SFS_LANES_MAX - 1);
	CHECK_EQ(sfs_merge_time(&merge), (1ULL << 48) - 1);
	sfs_merge_done(&merge);
	return 0;
}
