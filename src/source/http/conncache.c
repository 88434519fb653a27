/* SPDX-License-Identifier: MIT */
/* How this works: two short arrays, searched from their ends, since the connection used
 * last has the widest window.  The oldest goes when one is full. */
#include "source/http/conncache.h"

#include "base/alloc.h"
#include "base/clock.h"

#include <string.h>

#define MAX_IDLE_S  110 /* libcurl's is 118, many a server's 75 */
#define AVOIDED_S   60
#define MAX_AVOIDED 16

struct idle {
	struct sfs_http1 *conn;
	char *origin;
	uint64_t since_ns;
};

struct avoided {
	char *origin;
	uint64_t until_ns;
};

struct sfs_conncache {
	struct avoided avoided[MAX_AVOIDED];
	int n_avoided;
	int n_idle, n_max;
	struct idle idle[];
};

struct sfs_conncache *sfs_conncache_new(int n_idle)
{
	struct sfs_conncache *c =
		sfs_calloc(1, sizeof *c + (size_t)n_idle * sizeof c->idle[0]);

	c->n_max = n_idle;
	return c;
}

/* Take the i-th out of the array. */
static struct sfs_http1 *take(struct sfs_conncache *c, int i)
{
	struct sfs_http1 *conn = c->idle[i].conn;

	free(c->idle[i].origin);
	c->n_idle--;
	memmove(&c->idle[i], &c->idle[i + 1],
		(size_t)(c->n_idle - i) * sizeof c->idle[0]);
	return conn;
}

void sfs_conncache_free(struct sfs_conncache *c)
{
	while (c->n_idle > 0)
		sfs_http1_free(take(c, c->n_idle - 1));
	while (c->n_avoided > 0)
		free(c->avoided[--c->n_avoided].origin);
	free(c);
}

struct sfs_http1 *sfs_conncache_get(struct sfs_conncache *c, const char *origin,
				    uint64_t since_ns, uint64_t now_ns)
{
	struct sfs_http1 *conn;
	bool is_fresh;
	int i;

	for (i = c->n_idle - 1; i >= 0; i--) {
		if (strcmp(c->idle[i].origin, origin) != 0)
			continue;
		is_fresh = c->idle[i].since_ns >= since_ns &&
			   now_ns < c->idle[i].since_ns + MAX_IDLE_S * SFS_NS_PER_S;
		conn = take(c, i);
		if (is_fresh && sfs_http1_is_free(conn))
			return conn;
		sfs_http1_free(conn);
	}
	return NULL;
}

void sfs_conncache_put(struct sfs_conncache *c, const char *origin,
		       struct sfs_http1 *conn, uint64_t now_ns)
{
	if (!sfs_http1_is_free(conn)) {
		sfs_http1_free(conn);
		return;
	}
	/* The one that was idle for longest comes first. */
	while (c->n_idle > 0 && now_ns >= c->idle[0].since_ns + MAX_IDLE_S * SFS_NS_PER_S)
		sfs_http1_free(take(c, 0));
	if (c->n_idle == c->n_max)
		sfs_http1_free(take(c, 0));
	c->idle[c->n_idle++] = (struct idle){conn, sfs_strdup(origin), now_ns};
}

static struct avoided *find(struct sfs_conncache *c, const char *origin)
{
	int i;

	for (i = 0; i < c->n_avoided; i++)
		if (strcmp(c->avoided[i].origin, origin) == 0)
			return &c->avoided[i];
	return NULL;
}

void sfs_conncache_avoid(struct sfs_conncache *c, const char *origin, uint64_t now_ns)
{
	struct avoided *a = find(c, origin);

	if (!a && c->n_avoided == MAX_AVOIDED) {
		free(c->avoided[0].origin);
		memmove(&c->avoided[0], &c->avoided[1],
			(size_t)--c->n_avoided * sizeof *a);
	}
	if (!a) {
		a = &c->avoided[c->n_avoided++];
		a->origin = sfs_strdup(origin);
	}
	a->until_ns = now_ns + AVOIDED_S * SFS_NS_PER_S;
}

bool sfs_conncache_is_avoided(struct sfs_conncache *c, const char *origin,
			      uint64_t now_ns)
{
	const struct avoided *a = find(c, origin);

	return a && now_ns < a->until_ns;
}
