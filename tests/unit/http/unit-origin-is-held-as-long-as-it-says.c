/* SPDX-License-Identifier: MIT */
/* A server that answers 429 is held for the time that it says, and somewhat longer; what
 * was sent before it said so does not prolong that.  That is a line, once a minute. */
#include "base/alloc.h"
#include "base/clock.h"
#include "base/ledger.h"
#include "check.h"
#include "source/http/origin.h"

static struct sfs_origins origins;
static uint64_t now_ns = 1000 * SFS_NS_PER_S;

/* A GET that is sent now. */
static void send(struct sfs_get *get)
{
	*get = (struct sfs_get){.url = "http://host/x.tar"};
	sfs_origins_enqueue(&origins, get, now_ns);
	CHECK(sfs_origins_next(&origins) == get);
	sfs_origins_enter(&origins, get);
	get->sent_ns = now_ns;
}

static uint64_t held_ms(const struct sfs_get *get)
{
	return (get->origin->held_until_ns - now_ns) / SFS_NS_PER_MS;
}

int main(void)
{
	struct sfs_get first, second, third;

	sfs_origins_init(&origins, 16, 16);
	send(&first);
	send(&second);
	now_ns += SFS_NS_PER_S;
	CHECK(sfs_origin_hold(&first, 8, 1999, now_ns));
	CHECK_EQ(sfs_ledger_count(SFS_EVENT_RETRY), 1);
	CHECK_EQ(held_ms(&first), 9999);
	sfs_origins_leave(&origins, &first, now_ns);

	CHECK(!sfs_origin_hold(&second, 100, 0, now_ns));
	CHECK(!first.is_news && !second.is_news); /* the line is the server's */
	CHECK_EQ(held_ms(&second), 9999);
	sfs_origins_leave(&origins, &second, now_ns);

	now_ns += 10 * SFS_NS_PER_S;
	send(&third);
	CHECK(sfs_origin_hold(&third, 2, 0, now_ns));
	CHECK_EQ(sfs_ledger_count(SFS_EVENT_RETRY), 1);
	CHECK_EQ(held_ms(&third), 2000);
	sfs_origins_leave(&origins, &third, now_ns);

	now_ns += 60 * SFS_NS_PER_S;
	send(&third);
	CHECK(sfs_origin_hold(&third, 2, 0, now_ns));
	CHECK_EQ(sfs_ledger_count(SFS_EVENT_RETRY), 2);
	sfs_origins_leave(&origins, &third, now_ns);

	now_ns += 60 * SFS_NS_PER_S;
	send(&third); /* it will be given up before */
	third.latest_ns = now_ns + 99 * SFS_NS_PER_S;
	CHECK(sfs_origin_hold(&third, 100, 0, now_ns));
	CHECK_EQ(sfs_ledger_count(SFS_EVENT_RETRY), 2);
	sfs_origins_leave(&origins, &third, now_ns);
	sfs_origins_done(&origins);
	sfs_ledger_clear();
	return 0;
}
