/* SPDX-License-Identifier: MIT */
/* How this works: long before the first response, the kernel knows that a handshake is not
 * answered yet, or how long it took.  A near server is known as early, and gets none.
 *
 * The sooner the better: our handshakes with TLS, a millisecond each, are done while the
 * sizes are still on the way, and do not hold them up.
 *
 * To libcurl each is a GET that only connects.  It is in no queue, and nobody's. */
#include "source/http/ahead.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "source/http/origin.h"

#include <string.h>

struct sfs_ahead {
	struct sfs_curl *curl;
	struct sfs_conncache *conns;
	int most;
	struct sfs_link list; /* of those that are being made, the oldest first */
};

struct connection {
	struct sfs_get get; /* first */
	char *url, *origin;
};

struct sfs_ahead *sfs_ahead_new(struct sfs_curl *curl, struct sfs_conncache *conns,
				int most)
{
	struct sfs_ahead *a = sfs_calloc(1, sizeof *a);

	*a = (struct sfs_ahead){.curl = curl, .conns = conns, .most = most};
	sfs_list_init(&a->list);
	return a;
}

static void make_one(struct sfs_ahead *a, const struct sfs_get *like)
{
	struct connection *c = sfs_calloc(1, sizeof *c);

	c->url = sfs_strdup(like->url);
	c->origin = sfs_strdup(like->http1.origin);
	c->get.is_ahead = c->get.is_small = true;
	c->get.url = c->url;
	c->get.is_elsewhere = like->is_elsewhere;
	c->get.is_foreign = like->is_foreign;
	c->get.is_signed_url = like->is_signed_url;
	c->get.origin = like->origin;
	c->get.origin->n_ahead++;
	sfs_list_push(&a->list, &c->get.link);
	sfs_curl_connect(a->curl, &c->get);
}

static void drop(struct sfs_ahead *a, struct connection *c)
{
	sfs_curl_drop(a->curl, &c->get);
	sfs_link_remove(&c->get.link);
	c->get.origin->n_ahead--;
	free(c->get.curl.failure);
	free(c->get.curl.refusal);
	free(c->url);
	free(c->origin);
	free(c);
}

void sfs_ahead_free(struct sfs_ahead *a)
{
	if (!a)
		return;
	while (!sfs_list_is_empty(&a->list))
		drop(a, (struct connection *)sfs_container(a->list.next, struct sfs_get,
							   link));
	free(a);
}

static void make_all(struct sfs_ahead *a, const struct sfs_get *like)
{
	const int *n_active = like->origin->n_active;
	int n = a->most - n_active[SFS_QUEUE_READ] - n_active[SFS_QUEUE_SMALL];

	while (n-- > 0)
		make_one(a, like);
}

void sfs_ahead_look(struct sfs_ahead *a, struct sfs_link *active, uint64_t *next_ns)
{
	uint64_t now_ns = sfs_clock_ns();

	if (a->most == 0)
		return;
	SFS_EACH (get, active, struct sfs_get, link) {
		/* Sizes of a dataset, over connections of ours. */
		if (get->may_follow && get->http1.origin &&
		    sfs_origin_is_worth_ahead(get, now_ns, next_ns))
			make_all(a, get);
	}
}

bool sfs_ahead_take(struct sfs_ahead *a, struct sfs_get *get)
{
	struct connection *c;

	SFS_EACH (other, &a->list, struct sfs_get, link) {
		c = (struct connection *)other;
		if (strcmp(c->origin, get->http1.origin) != 0)
			continue;
		sfs_curl_take_over(a->curl, other, get);
		drop(a, c);
		return true;
	}
	return false;
}

void sfs_ahead_ended(struct sfs_ahead *a, struct sfs_get *get, struct sfs_http1 *conn)
{
	struct connection *c = (struct connection *)get;
	uint64_t now_ns = sfs_clock_ns();

	if (conn && sfs_conncache_is_avoided(a->conns, c->origin, now_ns))
		sfs_http1_free(steal(&conn));
	if (conn) {
		sfs_http1_set_ahead(conn);
		sfs_conncache_put(a->conns, c->origin, conn, now_ns);
	}
	drop(a, c);
}
