/* SPDX-License-Identifier: MIT */
/* A sender goes on for as long as it may without a receiver, however often a peer accepts
 * its connection and hangs up, or is mute; and a connection that was of use begins that
 * time anew.  No difference of two times is less than nothing. */
#include "check.h"
#include "transport/patience.h"

#include "base/clock.h"
#include "base/rng.h"

#define S SFS_NS_PER_S

int main(void)
{
	struct sfs_rng rng = {7};
	struct sfs_patience p;
	uint64_t now = 100 * S, at, most = 0;
	int n;

	/* One that accepts and hangs up at once. */
	sfs_patience_begin(&p, 30000, now);
	for (n = 0; !sfs_patience_is_over(&p, now); n++) {
		CHECK_EQ(sfs_patience_lose(&p, now, now, 0, now), n == 0); /* one line */
		at = sfs_patience_next(&p, &rng, now);
		CHECK(at >= now + 50 * SFS_NS_PER_MS && at < now + 7500 * SFS_NS_PER_MS);
		most = at - now > most ? at - now : most;
		now = at;
	}
	CHECK(now < 140 * S && n < 30 && most > 2 * S);

	/* One that is mute; then one that is heard later; then one that takes batches. */
	sfs_patience_begin(&p, 30000, 100 * S);
	CHECK(sfs_patience_lose(&p, 100 * S, 100 * S, 0, 110 * S));
	CHECK(!sfs_patience_lose(&p, 110 * S, 110 * S, 0, 120 * S));
	CHECK(sfs_patience_is_over(&p, 130 * S));
	CHECK(sfs_patience_lose(&p, 110 * S, 112 * S, 0, 122 * S));
	CHECK(sfs_patience_lose(&p, 122 * S, 122 * S, 0, 123 * S)); /* the first again */
	CHECK(!sfs_patience_is_over(&p, 151 * S));
	CHECK(sfs_patience_lose(&p, 150 * S, 150 * S, 1, 150 * S));
	CHECK(!sfs_patience_is_over(&p, 179 * S));
	CHECK(sfs_patience_is_over(&p, 180 * S));

	/* It may never end; and what began later than now has not lasted. */
	sfs_patience_begin(&p, 0, 0);
	CHECK(!sfs_patience_is_over(&p, 1000000 * S));
	CHECK(!sfs_clock_is_over(5, 1, 4));
	CHECK_EQ(sfs_clock_between(5, 4), 0);
	CHECK_EQ(sfs_clock_between(4, 5), 1);
	CHECK_EQ(sfs_clock_deadline(-1), UINT64_MAX);
	return 0;
}
