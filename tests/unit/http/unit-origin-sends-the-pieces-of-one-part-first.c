/* SPDX-License-Identifier: MIT */
/* From a far server whose connections are new, the pieces of one part come before the
 * next part, since a reader waits for one after the other.  As the connections grow
 * faster, the pieces grow.  Sizes, which may be sent behind each other, leave room for
 * pieces. */
#include "base/clock.h"
#include "check.h"
#include "source/http/origin.h"

#define N_SMALL 8

static struct sfs_origins origins;
static uint64_t now_ns = 1000 * SFS_NS_PER_S;

static void line_up(struct sfs_get *get, const char *url)
{
	*get = (struct sfs_get){.url = url};
	sfs_origins_enqueue(&origins, get, now_ns);
}

static void make_far(const char *url)
{
	struct sfs_get get;

	line_up(&get, url);
	CHECK(sfs_origins_next(&origins) == &get);
	sfs_origins_enter(&origins, &get);
	get.origin->rtt_ns = 150 * SFS_NS_PER_MS;
	get.sent_ns = now_ns;
	now_ns += 150 * SFS_NS_PER_MS;
	sfs_origin_responded(&get, now_ns);
	sfs_origins_leave(&origins, &get, now_ns);
}

static struct sfs_get *begin_next(void)
{
	struct sfs_get *get = sfs_origins_next(&origins);

	if (get)
		sfs_origins_enter(&origins, get);
	return get;
}

/* One that is split into pieces begins only when there is room for small ones, and its
 * pieces come before the next; but what a reader waits for comes first. */
static void pieces_come_before_the_next_part(void)
{
	static struct sfs_get parts[2], pieces[N_SMALL], waited_for;
	const char *url = "http://cold/x.tar";
	int i;

	make_far(url);
	for (i = 0; i < 2; i++) {
		line_up(&parts[i], url);
		parts[i].may_be_split = true;
	}
	CHECK(sfs_origins_next(&origins) == &parts[0]);
	CHECK_EQ(sfs_origin_cold_bytes(parts[0].origin), 13 << 10);
	parts[0].is_small = true; /* as its start() does */
	sfs_origins_enter(&origins, &parts[0]);
	for (i = 0; i < N_SMALL; i++) {
		pieces[i] = (struct sfs_get){.url = url, .is_small = true};
		sfs_origins_enqueue(&origins, &pieces[i], now_ns);
	}
	for (i = 0; i < N_SMALL - 1; i++)
		CHECK(begin_next() == &pieces[i]);
	CHECK(begin_next() == NULL);
	waited_for =
		(struct sfs_get){.url = url, .is_urgent = true, .may_be_split = true};
	sfs_origins_enqueue(&origins, &waited_for, now_ns);
	CHECK(begin_next() == NULL);
	sfs_origins_leave(&origins, &pieces[0], now_ns);
	CHECK(sfs_origins_next(&origins) == &waited_for);
	waited_for.is_small = true;
	sfs_origins_enter(&origins, &waited_for);
	sfs_origins_leave(&origins, &pieces[1], now_ns);
	CHECK(begin_next() == &pieces[N_SMALL - 1]);
	CHECK(begin_next() == NULL);
	sfs_origins_leave(&origins, &pieces[2], now_ns);
	CHECK(begin_next() == &parts[1]);
}

/* When each connection has brought its first bytes, it brings twice as many, and soon any
 * number; but what only sizes have brought does not count. */
static void connections_grow_warm(void)
{
	struct sfs_get part, size;

	make_far("http://warm/x.tar");
	line_up(&part, "http://warm/x.tar");
	part.last = (13 << 10) - 1;
	size = (struct sfs_get){.origin = part.origin, .last = 511, .is_small = true};
	part.is_small = true;
	sfs_origin_served(&size, 1 << 20);
	CHECK_EQ(sfs_origin_cold_bytes(part.origin), 13 << 10);
	sfs_origin_served(&part, N_SMALL * (13 << 10) - 1);
	CHECK_EQ(sfs_origin_cold_bytes(part.origin), 13 << 10);
	sfs_origin_served(&part, 1);
	CHECK_EQ(sfs_origin_cold_bytes(part.origin), 26 << 10);
	sfs_origin_served(&part, 8 << 20);
	CHECK_EQ(sfs_origin_cold_bytes(part.origin), 0);
	CHECK(sfs_origins_next(&origins) == &part);
}

/* Sizes may be sent behind each other; so new connections are left to others. */
static void sizes_share_connections(void)
{
	static struct sfs_get sizes[2 * N_SMALL];
	struct sfs_origin *origin;
	int i;

	make_far("http://many/x.tar");
	for (i = 0; i < 2 * N_SMALL; i++) {
		sizes[i] = (struct sfs_get){.url = "http://many/x.tar",
					    .is_small = true,
					    .is_urgent = true,
					    .may_follow = i != N_SMALL};
		sfs_origins_enqueue(&origins, &sizes[i], now_ns);
	}
	origin = sizes[0].origin;
	origin->is_ours = true;
	for (i = 0; i < N_SMALL * 7 / 8; i++)
		CHECK(begin_next() == &sizes[i]);
	CHECK(begin_next() == NULL);
	for (; i < N_SMALL; i++)
		CHECK(sfs_origin_next_behind(origin) == &sizes[i]);
	CHECK(sfs_origin_next_behind(origin) == NULL);
	CHECK(begin_next() == &sizes[N_SMALL]);
	/* A server that mostly leaves it at the first is not asked that way any more. */
	for (i = 0; i < 100; i++)
		sfs_origin_cut(&sizes[0]);
	CHECK(sfs_origin_next_behind(origin) == NULL);
	while (begin_next())
		;
	CHECK_EQ(origin->n_active[SFS_QUEUE_SMALL], N_SMALL);
}

/* Of all servers together no more run than one process should have. */
static void all_servers_have_one_limit(void)
{
	static struct sfs_get gets[50][16];
	char url[40];
	int i, k, n = 0;

	for (i = 0; i < 50; i++) {
		snprintf(url, sizeof url, "http://server-%d/x.tar", i);
		for (k = 0; k < 16; k++)
			line_up(&gets[i][k], url);
	}
	while (begin_next())
		n++;
	CHECK_EQ(n, 512);
}

int main(void)
{
	sfs_origins_init(&origins, 16, N_SMALL);
	pieces_come_before_the_next_part();
	connections_grow_warm();
	sizes_share_connections();
	sfs_origins_done(&origins);
	sfs_origins_init(&origins, 16, N_SMALL);
	all_servers_have_one_limit();
	sfs_origins_done(&origins);
	return 0;
}
