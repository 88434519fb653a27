/* SPDX-License-Identifier: MIT */
/* How this works: two short arrays, searched from their ends, since the wire used last
 * has the widest window.  The oldest goes when one is full. */
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
	struct sfs_conncache *w =
		sfs_calloc(1, sizeof *w + (size_t)n_idle * sizeof w->idle[0]);

	w->n_max = n_idle;
	return w;
}

/* Take the i-th out of the row. */
static struct sfs_http1 *take(struct sfs_conncache *w, int i)
{
	struct sfs_http1 *conn = w->idle[i].conn;

	free(w->idle[i].origin);
	w->n_idle--;
	memmove(&w->idle[i], &w->idle[i + 1],
		(size_t)(w->n_idle - i) * sizeof w->idle[0]);
	return conn;
}

void sfs_conncache_free(struct sfs_conncache *w)
{
	while (w->n_idle > 0)
		sfs_http1_free(take(w, w->n_idle - 1));
	while (w->n_avoided > 0)
		free(w->avoided[--w->n_avoided].origin);
	free(w);
}

struct sfs_http1 *sfs_conncache_get(struct sfs_conncache *w, const char *origin,
				    uint64_t since_ns, uint64_t now_ns)
{
	struct sfs_http1 *conn;
	bool is_fresh;
	int i;

	for (i = w->n_idle - 1; i >= 0; i--) {
		if (strcmp(w->idle[i].origin, origin) != 0)
			continue;
		is_fresh = w->idle[i].since_ns >= since_ns &&
			   now_ns < w->idle[i].since_ns + MAX_IDLE_S * SFS_NS_PER_S;
		conn = take(w, i);
		if (is_fresh && sfs_http1_is_free(conn))
			return conn;
		sfs_http1_free(conn);
	}
	return NULL;
}

void sfs_conncache_put(struct sfs_conncache *w, const char *origin,
		       struct sfs_http1 *conn, uint64_t now_ns)
{
	if (!sfs_http1_is_free(conn)) {
		sfs_http1_free(conn);
		return;
	}
	/* The one that has waited for longest comes first. */
	while (w->n_idle > 0 && now_ns >= w->idle[0].since_ns + MAX_IDLE_S * SFS_NS_PER_S)
		sfs_http1_free(take(w, 0));
	if (w->n_idle == w->n_max)
		sfs_http1_free(take(w, 0));
	w->idle[w->n_idle++] = (struct idle){conn, sfs_strdup(origin), now_ns};
}

static struct avoided *find(struct sfs_conncache *w, const char *origin)
{
	int i;

	for (i = 0; i < w->n_avoided; i++)
		if (strcmp(w->avoided[i].origin, origin) == 0)
			return &w->avoided[i];
	return NULL;
}

void sfs_conncache_avoid(struct sfs_conncache *w, const char *origin, uint64_t now_ns)
{
	struct avoided *a = find(w, origin);

	if (!a && w->n_avoided == MAX_AVOIDED) {
		free(w->avoided[0].origin);
		memmove(&w->avoided[0], &w->avoided[1],
			(size_t)--w->n_avoided * sizeof *a);
	}
	if (!a) {
		a = &w->avoided[w->n_avoided++];
		a->origin = sfs_strdup(origin);
	}
	a->until_ns = now_ns + AVOIDED_S * SFS_NS_PER_S;
}

bool sfs_conncache_is_avoided(struct sfs_conncache *w, const char *origin,
			      uint64_t now_ns)
{
	const struct avoided *a = find(w, origin);

	return a && now_ns < a->until_ns;
}
