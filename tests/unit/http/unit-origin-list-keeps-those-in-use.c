/* SPDX-License-Identifier: MIT */
/* However many servers redirects lead to, only those that are in use count, and only some
 * of the others are remembered; at each, urgent GETs come first. */
#include "base/alloc.h"
#include "base/clock.h"
#include "check.h"
#include "source/http/origin.h"

#define N_CONNECTIONS 16

static struct sfs_origins origins;
static uint64_t now_ns = 1000 * SFS_NS_PER_S;

static void line_up(struct sfs_get *get, const char *url)
{
	*get = (struct sfs_get){.url = url};
	sfs_origins_enqueue(&origins, get, now_ns);
}

/* A GET of its own for this URL. */
static void use(const char *url)
{
	struct sfs_get get;

	line_up(&get, url);
	CHECK(sfs_origins_next(&origins) == &get);
	sfs_origins_enter(&origins, &get);
	get.sent_ns = now_ns;
	now_ns += SFS_NS_PER_MS;
	sfs_origin_responded(&get, now_ns);
	sfs_origins_leave(&origins, &get, now_ns);
}

static int n_parallel(void)
{
	return sfs_origins_path(&origins, now_ns).n_parallel;
}

static void many_origins(void)
{
	int i, alone;

	use("http://origin/x.tar");
	alone = n_parallel();
	CHECK(alone > 0 && alone <= N_CONNECTIONS);
	for (i = 0; i < 5000; i++) {
		sfs_autofree char *url = sfs_asprintf("http://host-%d:80/x.tar", i);

		use("http://origin/x.tar");
		use(url);
		CHECK(n_parallel() <= 512);
		CHECK(origins.n <= 65);
	}
	now_ns += 11 * SFS_NS_PER_S;
	use("http://origin/y.tar");
	CHECK_EQ(n_parallel(), alone);
}

/* The path to a server stays where it is, though the server is forgotten meanwhile. */
static void paths(void)
{
	const struct sfs_netpath_record *near, *far;
	struct sfs_get get;
	int i;

	line_up(&get, "http://far/x.tar");
	CHECK(sfs_origins_next(&origins) == &get);
	far = get.origin->path;
	CHECK_EQ(sfs_netpath_load(far).n_parallel, 0);
	sfs_origins_enter(&origins, &get);
	get.sent_ns = now_ns;
	now_ns += 150 * SFS_NS_PER_MS;
	sfs_origin_responded(&get, now_ns);
	sfs_origins_leave(&origins, &get, now_ns);
	CHECK_EQ(sfs_netpath_load(far).wait_ns, 150 * SFS_NS_PER_MS);
	CHECK_EQ(sfs_netpath_load(far).n_parallel, N_CONNECTIONS);

	for (i = 0; i < 100; i++) {
		sfs_autofree char *url = sfs_asprintf("http://near-%d:80/x.tar", i);

		use(url);
	}
	line_up(&get, "http://near-99:80/y.tar");
	CHECK(sfs_origins_next(&origins) == &get);
	near = get.origin->path;
	CHECK_EQ(sfs_netpath_load(near).wait_ns, SFS_NS_PER_MS);
	CHECK_EQ(sfs_netpath_load(far).wait_ns, 150 * SFS_NS_PER_MS);
	line_up(&get, "http://FAR/y.tar");
	CHECK(sfs_origins_next(&origins) == &get);
	CHECK_EQ(get.origin->served_bytes, 0);
	CHECK(get.origin->path == far);

	/* Endless redirects to new servers do not fill the memory. */
	for (i = 0; i < 6000; i++) {
		sfs_autofree char *url = sfs_asprintf("http://many-%d:80/x.tar", i);

		use(url);
	}
	CHECK(origins.n_paths <= 4096);
}

static int n_at_once(const char *url)
{
	static struct sfs_get gets[100];
	struct sfs_get *get;
	int n = 0, i;

	for (i = 0; i < 100; i++)
		line_up(&gets[i], url);
	while ((get = sfs_origins_next(&origins)) != NULL) {
		sfs_origins_enter(&origins, get);
		n++;
	}
	return n;
}

/* A near server has a few GETs at a time, a busy one fewer, and all others
 * n_connections. */
static void limits(void)
{
	struct sfs_get get;

	CHECK_EQ(n_at_once("http://unknown/x.tar"), N_CONNECTIONS);
	use("http://near/x.tar");
	CHECK_EQ(n_at_once("http://near/x.tar"), 8);
	line_up(&get, "http://busy/x.tar");
	sfs_origin_refused(&get, now_ns);
	sfs_origin_refused(&get, now_ns); /* sent before the first */
	sfs_link_remove(&get.link);
	CHECK_EQ(n_at_once("http://busy/x.tar"), N_CONNECTIONS * 3 / 4);
}

/* One GET at a time: between two of them the server does not rest. */
static void one_connection(void)
{
	static struct sfs_get gets[100];
	int i;

	for (i = 0; i < 100; i++)
		line_up(&gets[i], "http://one/x.tar");
	for (i = 0; i < 100; i++) {
		CHECK(sfs_origins_next(&origins) == &gets[i]);
		sfs_origins_enter(&origins, &gets[i]);
		CHECK(sfs_origins_next(&origins) == NULL);
		gets[i].sent_ns = now_ns;
		now_ns += 10 * SFS_NS_PER_MS;
		sfs_origin_responded(&gets[i], now_ns);
		sfs_origin_served(&gets[i], 1000000);
		sfs_origins_leave(&origins, &gets[i], now_ns);
	}
	CHECK_EQ(sfs_origins_path(&origins, now_ns).bytes_per_s, 100000000);
}

/* Those that have something to do are never forgotten. */
static void all_busy(void)
{
	static struct sfs_get gets[400], another, *next;
	char url[40];
	int i;

	for (i = 0; i < 400; i++) {
		snprintf(url, sizeof url, "http://busy-%d/x.tar", i);
		line_up(&gets[i], url);
		gets[i].url = NULL;
		next = i % 2 ? sfs_origins_next(&origins) : NULL;
		if (next)
			sfs_origins_enter(&origins, next);
	}
	CHECK_EQ(n_parallel(), 512);
	now_ns += 100 * SFS_NS_PER_S;
	line_up(&another, "http://another/x.tar");
	for (i = 0; i < 400; i++) {
		snprintf(url, sizeof url, "http://busy-%d", i);
		CHECK_STR(gets[i].origin->name, url);
	}
}

int main(void)
{
	struct sfs_get calm, urgent;

	sfs_origins_init(&origins, N_CONNECTIONS, 128);
	line_up(&calm, "http://origin/x.tar");
	urgent = (struct sfs_get){.url = "http://ORIGIN/y.tar", .is_urgent = true};
	sfs_origins_enqueue(&origins, &urgent, now_ns);
	CHECK(calm.origin == urgent.origin);
	CHECK(sfs_origins_next(&origins) == &urgent);
	CHECK(sfs_origins_next(&origins) == &calm);
	CHECK(sfs_origins_next(&origins) == NULL);
	many_origins();
	sfs_origins_done(&origins);
	sfs_origins_init(&origins, N_CONNECTIONS, 128);
	paths();
	sfs_origins_done(&origins);
	sfs_origins_init(&origins, N_CONNECTIONS, 128);
	all_busy();
	sfs_origins_done(&origins);
	sfs_origins_init(&origins, N_CONNECTIONS, 128);
	limits();
	sfs_origins_done(&origins);
	sfs_origins_init(&origins, 1, 128);
	one_connection();
	sfs_origins_done(&origins);
	return 0;
}
