/* SPDX-License-Identifier: MIT */
#include "source/http/http1-get.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "source/http/ahead.h"
#include "source/http/conncache.h"
#include "source/http/http1-request.h"
#include "source/http/origin.h"
#include "source/http/receive.h"

#include <errno.h>
#include <string.h>

#define LOW_WINDOWS (16 << 10) /* a quarter of the least window: none is ever full */
#define PATIENCE_NS (10 * SFS_NS_PER_MS) /* for a few bytes of a body to become many */

struct sfs_http1_gets {
	struct sfs_http1_gets_events events;
	struct sfs_curl *curl;
	struct sfs_http1_request *request;
	struct sfs_conncache *conns;
	struct sfs_ahead *ahead;
	struct pollfd *fds;	 /* to poll, */
	struct sfs_get **polled; /* and the GET of each; NULL: it is over */
	unsigned n_polled;
	struct sfs_get *following; /* whose response may have come with the one before */
};

/* ---- the callbacks of http1.h ---- */

static void on_line(void *reader, const char *line, size_t n)
{
	sfs_receive_line(reader, line, n);
}

static int on_head(void *reader)
{
	return sfs_receive_head(reader);
}

static int on_room(void *reader, struct iovec *pieces, int n_max)
{
	struct sfs_get *get = reader;

	return get->room(get, pieces, n_max);
}

static int on_received(void *reader, size_t n)
{
	struct sfs_get *get = reader;

	sfs_receive_bytes(get, n);
	get->response.err = get->received(get, n);
	return get->response.err;
}

/* ---- one GET ---- */

static void forget(struct sfs_get *get)
{
	get->http1.before = get->http1.behind = NULL;
	get->http1.is_last = false;
	free(steal(&get->http1.request));
	free(steal(&get->http1.origin));
}

/* Those that were sent behind this one have to be sent again. */
static void cut_behind(struct sfs_http1_gets *g, struct sfs_get *get)
{
	struct sfs_get *behind = steal(&get->http1.behind), *following;

	for (; behind; behind = following) {
		following = behind->http1.behind;
		forget(behind);
		g->events.again(g->events.ctx, behind);
	}
}

/* The GET is over: the response to the one behind it is next. */
static bool hand_over(struct sfs_http1_gets *g, struct sfs_get *get)
{
	struct sfs_get *next = get->http1.behind;

	if (!next || !sfs_http1_follow(get->http1.conn))
		return false;
	next->http1.conn = steal(&get->http1.conn);
	next->http1.before = NULL;
	g->following = next;
	g->events.first(g->events.ctx, next);
	return true;
}

/* The GET's response is of no use any more: read no further than the one before. */
static void leave_behind(struct sfs_http1_gets *g, struct sfs_get *get)
{
	cut_behind(g, get);
	get->http1.before->http1.behind = NULL;
	get->http1.before->http1.is_last = true;
}

static void leave_connection(struct sfs_http1_gets *g, struct sfs_get *get)
{
	if (hand_over(g, get))
		return;
	cut_behind(g, get);
	if (get->http1.is_last)
		sfs_http1_free(get->http1.conn);
	else
		sfs_conncache_put(g->conns, get->http1.origin, get->http1.conn,
				  sfs_clock_ns());
	get->http1.conn = NULL;
}

void sfs_http1_gets_drop(struct sfs_http1_gets *g, struct sfs_get *get)
{
	unsigned i;

	for (i = 0; i < g->n_polled; i++)
		if (g->polled[i] == get)
			g->polled[i] = NULL;
	if (g->following == get)
		g->following = NULL;
	if (get->http1.before)
		leave_behind(g, get);
	else if (get->http1.conn)
		leave_connection(g, get);
	forget(get);
}

/* The server responds in a way that only libcurl understands. */
static void leave_to_libcurl(struct sfs_http1_gets *g, struct sfs_get *get)
{
	sfs_conncache_avoid(g->conns, get->http1.origin, sfs_clock_ns());
	sfs_http1_gets_drop(g, get);
	sfs_receive_begin(get);
	sfs_curl_begin(g->curl, get);
}

static void end(struct sfs_http1_gets *g, struct sfs_get *get, int err, const char *why)
{
	g->events.end(g->events.ctx, get, err, SFS_FETCH_PASSING, why);
}

static void step(struct sfs_http1_gets *g, struct sfs_get *get)
{
	static const struct sfs_http1_reader reader = {on_line, on_head, on_room,
						       on_received};
	sfs_autofree char *why = NULL;
	int err;

	switch (sfs_http1_run(get->http1.conn, &reader, get, &err)) {
	case SFS_HTTP1_WAITS: return;
	case SFS_HTTP1_ENDED: end(g, get, err, ""); return;
	case SFS_HTTP1_ODD: leave_to_libcurl(g, get); return;
	case SFS_HTTP1_STALE:
		cut_behind(g, get);
		get->http1.is_last = false;
		sfs_http1_free(steal(&get->http1.conn));
		sfs_curl_connect(g->curl, get);
		return;
	case SFS_HTTP1_LOST:
		why = sfs_strdup(sfs_http1_why(get->http1.conn));
		end(g, get, err, why);
		return;
	}
}

/* What has come may hold several responses. */
static void http1_gets_run(struct sfs_http1_gets *g, struct sfs_get *get)
{
	do
		step(g, get);
	while ((get = steal(&g->following)) != NULL);
}

static void send_over(struct sfs_http1_gets *g, struct sfs_get *get,
		      struct sfs_http1 *conn)
{
	get->http1.conn = conn;
	get->sent_ns = get->response.progress_ns = sfs_clock_ns();
	sfs_origin_sends(get, sfs_http1_fd(conn));
	sfs_http1_set_low_water(conn, get->origin->has_windows ? LOW_WINDOWS
							       : SFS_HTTP1_LOW_WATER);
	sfs_http1_ask(conn, get->http1.request, strlen(get->http1.request));
	/* With others behind it, all are sent in one packet, when it is polled.  A server
	 * that got the first one before might send that response alone, and the end of
	 * the others, less than a packet, only when that is acknowledged: a round trip
	 * later. (nginx with tcp_nopush does.) */
	if (!get->may_follow)
		http1_gets_run(g, get);
}

void sfs_http1_gets_connected(struct sfs_http1_gets *g, struct sfs_get *get,
			      struct sfs_http1 *conn)
{
	if (get->is_ahead)
		sfs_ahead_ended(g->ahead, get, conn);
	else if (conn)
		send_over(g, get, conn);
	else
		end(g, get, -EMFILE, "no socket");
}

void sfs_http1_gets_connect_ahead(struct sfs_http1_gets *g, struct sfs_link *active,
				  uint64_t *next_ns)
{
	sfs_ahead_look(g->ahead, active, next_ns);
}

bool sfs_http1_gets_begin(struct sfs_http1_gets *g, struct sfs_get *get)
{
	uint64_t now_ns = sfs_clock_ns();
	struct sfs_http1 *conn = NULL;

	get->http1.request = sfs_http1_request_write(g->request, get, &get->http1.origin);
	if (!get->http1.request)
		return false;
	if (sfs_conncache_is_avoided(g->conns, get->http1.origin, now_ns)) {
		sfs_http1_gets_drop(g, get);
		return false;
	}
	if (!get->wants_new_connection)
		conn = sfs_conncache_get(g->conns, get->http1.origin,
					 get->origin->stalled_ns, now_ns);
	if (conn)
		send_over(g, get, conn);
	else if (get->wants_new_connection || !sfs_ahead_take(g->ahead, get))
		sfs_curl_connect(g->curl, get);
	return true;
}

bool sfs_http1_gets_begin_behind(struct sfs_http1_gets *g, struct sfs_get *last,
				 struct sfs_get *get)
{
	struct sfs_http1 *conn;

	get->http1.request = sfs_http1_request_write(g->request, get, &get->http1.origin);
	if (!get->http1.request)
		return false;
	get->http1.before = last;
	last->http1.behind = get;
	for (conn = last->http1.conn; !conn; conn = last->http1.conn)
		last = last->http1.before;
	get->sent_ns = get->response.progress_ns = sfs_clock_ns();
	sfs_http1_ask_too(conn, get->http1.request, strlen(get->http1.request));
	return true;
}

/* ---- all of them ---- */

/* Bytes that lie in the socket for long are no progress that anybody sees: a slow server
 * would look silent. */
static void look_at(struct sfs_get *get, uint64_t now_ns, uint64_t *next_ns)
{
	uint64_t at_ns = get->response.progress_ns + PATIENCE_NS;

	if (!sfs_http1_is_patient(get->http1.conn))
		return;
	if (at_ns <= now_ns)
		sfs_http1_hurry(get->http1.conn);
	else if (at_ns < *next_ns)
		*next_ns = at_ns;
}

unsigned sfs_http1_gets_poll(struct sfs_http1_gets *g, struct sfs_link *active,
			     size_t n_active, struct pollfd **ret_fds, uint64_t *next_ns)
{
	uint64_t now_ns = sfs_clock_ns();

	g->n_polled = 0;
	g->fds = sfs_reallocarray(g->fds, n_active + 1, sizeof g->fds[0]);
	g->polled = sfs_reallocarray(g->polled, n_active + 1, sizeof g->polled[0]);
	SFS_EACH (get, active, struct sfs_get, link) {
		if (!get->http1.conn)
			continue;
		look_at(get, now_ns, next_ns);
		if (sfs_http1_holds(get->http1.conn))
			*next_ns = now_ns;
		g->fds[g->n_polled] = (struct pollfd){
			.fd = sfs_http1_fd(get->http1.conn),
			.events = sfs_http1_sends(get->http1.conn) ? POLLOUT : POLLIN,
		};
		g->polled[g->n_polled++] = get;
	}
	*ret_fds = g->fds;
	return g->n_polled;
}

/* A GET may end others. */
void sfs_http1_gets_run(struct sfs_http1_gets *g)
{
	unsigned i;

	for (i = 0; i < g->n_polled; i++)
		if (g->polled[i] &&
		    (g->fds[i].revents || sfs_http1_holds(g->polled[i]->http1.conn)))
			http1_gets_run(g, g->polled[i]);
	g->n_polled = 0;
}

void sfs_http1_gets_set_headers(struct sfs_http1_gets *g,
				const struct sfs_user_headers *headers)
{
	sfs_http1_request_set_headers(g->request, headers);
}

struct sfs_http1_gets *sfs_http1_gets_new(const struct sfs_fetch_options *options,
					  const struct sfs_user_headers *headers,
					  struct sfs_curl *curl,
					  const struct sfs_http1_gets_events *events)
{
	struct sfs_http1_gets *g = sfs_calloc(1, sizeof *g);

	g->events = *events;
	g->curl = curl;
	g->request = sfs_http1_request_new(options);
	sfs_http1_request_set_headers(g->request, headers);
	g->conns = sfs_conncache_new(SFS_FETCH_MAX_KEPT);
	g->ahead = sfs_ahead_new(curl, g->conns, options->n_ahead);
	return g;
}

void sfs_http1_gets_free(struct sfs_http1_gets *g)
{
	if (!g)
		return;
	sfs_ahead_free(g->ahead);
	sfs_conncache_free(g->conns);
	sfs_http1_request_free(g->request);
	free(g->fds);
	free(g->polled);
	free(g);
}
