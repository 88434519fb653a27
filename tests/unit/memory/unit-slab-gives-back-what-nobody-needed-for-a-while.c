/* SPDX-License-Identifier: MIT */
/* Slabs that were free all the time between two calls of sfs_slabs_settle() give their
 * memory back, but for 16 MiB, small ones and whole huge pages; those that were needed in
 * between, however shortly, keep it. */
#include "check.h"
#include "memory/budget.h"
#include "memory/slab.h"

#include <unistd.h>

#define MIB   ((uint64_t)1 << 20)
#define SLABS (MIB / SFS_SLAB_BYTES) /* in a MiB */
#define N     (96 * SLABS)

static void *some[N];

static uint64_t held(struct sfs_slabs *slabs)
{
	return sfs_slabs_memory(slabs).held_bytes;
}

/* Use n slabs more for a moment. */
static void use(struct sfs_slabs *slabs, size_t n)
{
	static void *more[N];

	sfs_slabs_get(slabs, more, n);
	sfs_slabs_put(slabs, more, n);
}

static void check(struct sfs_slabs *slabs)
{
	uint64_t most;

	/* 80 MiB are used once, and then 20. */
	sfs_slabs_settle(slabs);
	sfs_slabs_get(slabs, some, 80 * SLABS);
	most = held(slabs);
	CHECK(most >= 80 * MIB);
	sfs_slabs_put(slabs, some + 20 * SLABS, 60 * SLABS);
	sfs_slabs_settle(slabs);
	CHECK(held(slabs) >= 80 * MIB); /* they were needed since the last time */

	/* 50 are needed again and again, in moments: these stay, and 16. */
	use(slabs, 30 * SLABS);
	sfs_slabs_settle(slabs);
	CHECK(held(slabs) >= 66 * MIB && held(slabs) <= 70 * MIB);
	use(slabs, 30 * SLABS);
	sfs_slabs_settle(slabs);
	CHECK(held(slabs) >= 66 * MIB && held(slabs) <= 70 * MIB);

	/* Then no more than the 20. */
	sfs_slabs_settle(slabs);
	CHECK(held(slabs) >= 36 * MIB && held(slabs) <= 40 * MIB);
	sfs_slabs_settle(slabs);
	CHECK(held(slabs) >= 36 * MIB && held(slabs) <= 40 * MIB);
	CHECK_EQ(sfs_slabs_memory(slabs).used_bytes, 20 * MIB);
	sfs_slabs_put(slabs, some, 20 * SLABS);
	sfs_slabs_settle(slabs);
	sfs_slabs_settle(slabs);
	CHECK(held(slabs) <= 20 * MIB);
}

/* Wait until at least n bytes lie in blocks that were filled, and nearly all that is held. */
static void wait_until_filled(struct sfs_slabs *slabs, uint64_t n)
{
	struct sfs_slabs_memory m;

	for (;;) {
		use(slabs, 1); /* wakes the filler */
		m = sfs_slabs_memory(slabs);
		if (m.filled_bytes >= n && m.held_bytes - m.filled_bytes < 2 * MIB)
			return;
		usleep(1000);
	}
}

static void huge(void)
{
	struct sfs_slabs *slabs = sfs_slabs_new(N * SFS_SLAB_BYTES);
	struct sfs_budget budget;
	uint64_t most;

	sfs_budget_init(&budget, 1024 * MIB);
	sfs_slabs_fill(slabs, &budget);
	if (!sfs_slabs_refusal(slabs)) {
		sfs_slabs_get(slabs, some, 64 * SLABS);
		sfs_slabs_put(slabs, some, 64 * SLABS);
		wait_until_filled(slabs, 62 * MIB);
		sfs_slabs_get(slabs, some, 60 * SLABS);
		wait_until_filled(slabs, 76 * MIB);
		most = sfs_slabs_memory(slabs).filled_bytes;
		sfs_slabs_put(slabs, some + 8 * SLABS, 52 * SLABS);
		sfs_slabs_settle(slabs);
		CHECK(sfs_slabs_memory(slabs).filled_bytes >= most - 4 * MIB);
		sfs_slabs_settle(slabs);
		CHECK(sfs_slabs_memory(slabs).filled_bytes <= most - 44 * MIB);
		CHECK_EQ(sfs_slabs_used(slabs), 8 * MIB);
		sfs_slabs_put(slabs, some, 8 * SLABS);
	}
	sfs_slabs_free(slabs);
	sfs_budget_done(&budget);
}

int main(void)
{
	struct sfs_slabs *slabs = sfs_slabs_new(N * SFS_SLAB_BYTES);

	check(slabs);
	check(slabs);
	sfs_slabs_free(slabs);
	huge();
	return 0;
}
