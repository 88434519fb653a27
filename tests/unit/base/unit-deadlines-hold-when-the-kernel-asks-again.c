/* SPDX-License-Identifier: MIT */
/* What lies in a range that failed a moment ago has that range's deadline, and a
 * short grace once for each page; everything else, and whoever comes later, has
 * the whole time. */
#include "base/clock.h"
#include "base/deadlines.h"
#include "check.h"

#define T    (10 * SFS_NS_PER_S)
#define PAGE 4096
#define NODE 7

static struct sfs_deadlines d;
static bool is_again;

static uint64_t begin(uint64_t node, uint64_t offset, size_t n, uint64_t now_ns)
{
	return sfs_deadlines_begin(&d, &(struct sfs_page_range){node, offset, n}, T,
				   now_ns, &is_again);
}

static void whole_time(uint64_t node, uint64_t offset, size_t n, uint64_t now_ns)
{
	CHECK_EQ(begin(node, offset, n, now_ns), now_ns + T);
	CHECK(!is_again);
}

/* A readahead of 1 MiB fails at its deadline; then the kernel asks for pages of it. */
static void pages_of_a_readahead(uint64_t now)
{
	uint64_t grace = sfs_deadlines_grace(T), until;

	CHECK(grace > 0 && grace < T / 8);
	until = begin(NODE, 8 * PAGE, 1 << 20, now);
	CHECK_EQ(until, now + T);
	now = until;
	sfs_deadlines_fail(&d, &(struct sfs_page_range){NODE, 8 * PAGE, 1 << 20}, until,
			   is_again, now);

	until = begin(NODE, 9 * PAGE, PAGE, now + 5);
	CHECK(is_again);
	CHECK_EQ(until, now + 5 + grace);
	now = until;
	sfs_deadlines_fail(&d, &(struct sfs_page_range){NODE, 9 * PAGE, PAGE}, until,
			   true, now);
	CHECK_EQ(begin(NODE, 9 * PAGE, PAGE, now), now); /* a fault asks twice */
	CHECK_EQ(begin(NODE, 8 * PAGE + (1 << 20) - PAGE, PAGE, now), now + grace);
	CHECK(is_again); /* another reader's page, which may well be there */

	whole_time(NODE + 1, 9 * PAGE, PAGE, now);
	whole_time(NODE, 7 * PAGE, PAGE, now);
	whole_time(NODE, 7 * PAGE, 2 * PAGE, now);
	whole_time(NODE, 8 * PAGE + (1 << 20), PAGE, now);
	whole_time(NODE, 9 * PAGE, PAGE, now + 3 * SFS_NS_PER_S);
}

/* The source gave up before: the rest of the time is left. */
static void failed_early(uint64_t now)
{
	uint64_t until = begin(NODE, 0, 1 << 20, now);

	sfs_deadlines_fail(&d, &(struct sfs_page_range){NODE, 0, 1 << 20}, until,
			   is_again, now + T / 2);
	CHECK_EQ(begin(NODE, 0, PAGE, now + T / 2 + 1), until);
	CHECK(is_again);
	sfs_deadlines_fail(&d, &(struct sfs_page_range){NODE, 0, PAGE}, until, is_again,
			   now + T / 2 + 2);
	CHECK_EQ(begin(NODE, 0, PAGE, now + T / 2 + 3), until);
}

/* Who reads on and on without a pause gets a whole try soon. */
static void without_a_pause(uint64_t now)
{
	uint64_t until = begin(NODE, 0, PAGE, now), first;

	now = first = until;
	sfs_deadlines_fail(&d, &(struct sfs_page_range){NODE, 0, PAGE}, until, is_again,
			   now);
	while ((until = begin(NODE, 0, PAGE, now)) < now + T) {
		CHECK(is_again);
		now = until + SFS_NS_PER_MS;
		sfs_deadlines_fail(&d, &(struct sfs_page_range){NODE, 0, PAGE}, until,
				   is_again, now);
		CHECK(now < first + T / 2);
	}
	CHECK(!is_again);
}

/* The oldest are forgotten. */
static void many(uint64_t now)
{
	uint64_t i;

	for (i = 0; i < SFS_DEADLINES_MAX + 1; i++)
		sfs_deadlines_fail(&d, &(struct sfs_page_range){i, 0, PAGE}, now, false,
				   now);
	whole_time(0, 0, PAGE, now);
	for (i = 1; i < SFS_DEADLINES_MAX + 1; i++) {
		begin(i, 0, PAGE, now);
		CHECK(is_again);
	}
}

int main(void)
{
	whole_time(0, 0, PAGE, 0);
	pages_of_a_readahead(100 * SFS_NS_PER_S);
	failed_early(200 * SFS_NS_PER_S);
	without_a_pause(300 * SFS_NS_PER_S);
	many(400 * SFS_NS_PER_S);
	return 0;
}
