/* SPDX-License-Identifier: MIT */
/* An outage of a server is reported once, and its end once; failures between good
 * responses are reported one by one; in an outage retries are few, however many wait. */
#include "base/alloc.h"
#include "base/clock.h"
#include "base/rng.h"
#include "check.h"
#include "source/http/outage.h"

#define MS  SFS_NS_PER_MS
#define SEC SFS_NS_PER_S

static uint64_t ns;

static void good_answers(void)
{
	struct sfs_outage o = {0};
	uint64_t now = 50 * SEC;
	int i;

	/* A server that fails now and then, but answers all the time. */
	for (i = 0; i < 1000; i++) {
		now += 10 * MS;
		CHECK(!sfs_outage_succeeded(&o, now, &ns));
		CHECK_EQ(sfs_outage_failed(&o, false, now), SFS_OUTAGE_SINGLE);
		CHECK_EQ(sfs_outage_failed(&o, i % 2 != 0, now + 5 * MS),
			 SFS_OUTAGE_NO_NEWS);
	}
	CHECK(!sfs_outage_succeeded(&o, now, &ns));
	/* Refusing some, while others are answered, is no outage. */
	CHECK_EQ(sfs_outage_failed(&o, true, now + SEC), SFS_OUTAGE_SINGLE);
	CHECK(!sfs_outage_succeeded(&o, now + 2 * SEC, &ns));
}

static void it_stops_answering(void)
{
	struct sfs_outage o = {0};
	uint64_t now = 50 * SEC;
	int i;

	CHECK(!sfs_outage_succeeded(&o, now, &ns));
	CHECK_EQ(sfs_outage_failed(&o, false, now + 10 * SEC), SFS_OUTAGE_SINGLE);
	for (i = 0; i < 100; i++)
		CHECK_EQ(sfs_outage_failed(&o, false, now + 10 * SEC + (uint64_t)i * MS),
			 SFS_OUTAGE_NO_NEWS);
	CHECK_EQ(sfs_outage_failed(&o, false, now + 12 * SEC), SFS_OUTAGE_BEGUN);
	for (i = 0; i < 100; i++)
		CHECK_EQ(sfs_outage_failed(&o, i % 3 == 0,
					   now + (uint64_t)(13 + i) * SEC),
			 SFS_OUTAGE_NO_NEWS);
	CHECK(sfs_outage_succeeded(&o, now + 71 * SEC, &ns));
	CHECK_EQ(ns, 61 * SEC);
	CHECK(!sfs_outage_succeeded(&o, now + 72 * SEC, &ns));
	CHECK_EQ(sfs_outage_failed(&o, false, now + 73 * SEC), SFS_OUTAGE_SINGLE);
}

static void it_cannot_be_reached(void)
{
	struct sfs_outage o = {0};

	CHECK_EQ(sfs_outage_failed(&o, true, SEC), SFS_OUTAGE_BEGUN);
	CHECK(sfs_outage_succeeded(&o, 2 * SEC, &ns));
	CHECK_EQ(ns, SEC);
	/* It answered a moment ago: perhaps it is only one of its addresses. */
	CHECK_EQ(sfs_outage_failed(&o, true, 3 * SEC), SFS_OUTAGE_SINGLE);
	CHECK_EQ(sfs_outage_failed(&o, true, 3 * SEC + MS), SFS_OUTAGE_NO_NEWS);
	CHECK_EQ(sfs_outage_failed(&o, true, 4 * SEC), SFS_OUTAGE_BEGUN);
	CHECK(sfs_outage_succeeded(&o, 9 * SEC, &ns));
	CHECK_EQ(ns, 6 * SEC);
}

/* So many wait, and each that fails waits again: how many tries are there in a minute? */
static int tries_in_a_minute(int n_waiting, uint64_t *ret_first)
{
	uint64_t due[400], now = 100 * SEC, end = now + 60 * SEC;
	struct sfs_rng chance = {5};
	struct sfs_outage o = {0};
	int i, next, n = 0;

	sfs_outage_failed(&o, true, now);
	for (i = 0; i < n_waiting; i++)
		due[i] = sfs_outage_next_retry(&o, now, sfs_rng_next(&chance));
	*ret_first = due[0] - now;
	for (;; n++) {
		for (next = 0, i = 1; i < n_waiting; i++)
			next = due[i] < due[next] ? i : next;
		now = due[next];
		if (now >= end)
			return n;
		due[next] = sfs_outage_next_retry(&o, now, sfs_rng_next(&chance));
		CHECK(due[next] > now);
	}
}

static void retries_are_spread(void)
{
	static const int numbers[] = {1, 2, 64, 400};
	uint64_t first;
	size_t i;
	int n;

	for (i = 0; i < SFS_COUNT(numbers); i++) {
		n = tries_in_a_minute(numbers[i], &first);
		CHECK(n >= 10 && n <= 25);
		CHECK(first < SEC);
	}
}

int main(void)
{
	good_answers();
	it_stops_answering();
	it_cannot_be_reached();
	retries_are_spread();
	return 0;
}
