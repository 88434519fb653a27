/* SPDX-License-Identifier: MIT */
/* How this works: one loop.  GETs are queued until their server has room (origin.h), and
 * then run: over a connection of ours where that is possible (http1-get.h), else over
 * libcurl (curl-get.h).  Both kinds of sockets are polled together.
 *
 * Each GET is in one list: incoming, delayed, a queue of its server, or active.
 * What stalls or is late, fetch-times.c finds. */
#include "source/http/fetch.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/rng.h"
#include "base/threadpool.h"
#include "source/http/curl-get.h"
#include "source/http/fetch-internal.h"
#include "source/http/http1-get.h"
#include "source/http/origin.h"
#include "source/http/receive.h"
#include "source/http/user-headers.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <unistd.h>

#define MOST_BEHIND 8 /* GETs over one connection at a time */

/* Bring the user's headers up to date; `must`: read all files. */
static void look_at_headers(struct sfs_fetch *f, bool must)
{
	if (sfs_user_headers_look(f->headers, must, sfs_clock_ns()))
		sfs_http1_gets_set_headers(f->http1, f->headers);
}

enum sfs_renewal sfs_fetch_renew_headers(struct sfs_fetch *f, const struct sfs_get *get,
					 bool may_run)
{
	look_at_headers(f, true);
	if (sfs_user_headers_edition(f->headers) != get->user_headers_edition)
		return SFS_RENEWAL_NOW;
	return may_run ? sfs_user_headers_renew(f->headers, get->user_headers_ns)
		       : SFS_RENEWAL_NO;
}

static void prepare(struct sfs_fetch *f, struct sfs_get *get)
{
	get->cold_bytes = sfs_origin_cold_bytes(get->origin);
	get->path = get->origin->path;
	get->late_ns = 0;
	get->start(get);
	if (get->has_user_headers) {
		look_at_headers(f, false);
		get->user_headers_edition = sfs_user_headers_edition(f->headers);
		get->user_headers_ns = sfs_clock_ns();
	}
	sfs_receive_begin(get);
	get->is_active = true;
	sfs_list_push(&f->active, &get->link);
}

/* It was sent behind another, which is over. */
static void become_first(void *ctx, struct sfs_get *get)
{
	struct sfs_fetch *f = ctx;

	get->is_behind = false;
	sfs_origins_enter(&f->origins, get);
}

/* It was sent behind another, in vain.  Now it is sent by itself. */
static void queue_again(void *ctx, struct sfs_get *get)
{
	struct sfs_fetch *f = ctx;

	sfs_link_remove(&get->link);
	get->is_active = get->is_behind = get->may_follow = get->http1.is_shared = false;
	get->http1.n_before = 0;
	sfs_origin_cut(get);
	sfs_origins_enqueue(&f->origins, get, sfs_clock_ns());
}

/* Send others behind this one. */
static void begin_behind(struct sfs_fetch *f, struct sfs_get *first)
{
	struct sfs_get *last = first, *get;
	unsigned n;

	for (n = 1; n < MOST_BEHIND; n++, last = get) {
		get = sfs_origin_next_behind(first->origin);
		if (!get)
			break;
		get->http1.n_before = n;
		prepare(f, get);
		get->is_behind = get->http1.is_shared = first->http1.is_shared = true;
		if (!sfs_http1_gets_begin_behind(f->http1, last, get)) {
			queue_again(f, get);
			break;
		}
	}
}

static void begin(struct sfs_fetch *f, struct sfs_get *get)
{
	prepare(f, get);
	sfs_origins_enter(&f->origins, get);
	get->origin->is_ours = sfs_http1_gets_begin(f->http1, get);
	if (!get->origin->is_ours)
		sfs_curl_begin(f->curl, get);
	else if (get->http1.conn && get->may_follow) /* one that was used before */
		begin_behind(f, get);
}

/* Take the GET out of whatever it is in. */
static void take_off(struct sfs_fetch *f, struct sfs_get *get)
{
	sfs_link_remove(&get->link);
	sfs_origins_end_waiting(get);
	if (!get->is_active)
		return;
	get->is_active = false;
	if (!get->is_behind)
		sfs_origins_leave(&f->origins, get, sfs_clock_ns());
	get->is_behind = false;
	sfs_curl_drop(f->curl, get);
	sfs_http1_gets_drop(f->http1, get);
}

/* The server responds again: all GETs that wait for that go on. */
static void release(struct sfs_fetch *f, const struct sfs_origin *origin)
{
	SFS_EACH (get, &f->delayed, struct sfs_get, link) {
		if (get->is_waiting && get->origin == origin)
			get->due_ns = 0;
	}
}

/* Does its server want no GETs for now?  Then it waits; but not longer than is of use. */
static bool hold_back(struct sfs_fetch *f, struct sfs_get *get)
{
	sfs_origins_begin_waiting(&f->origins, get);
	get->due_ns = get->origin->held_until_ns;
	if (get->latest_ns > 0 && get->latest_ns < get->due_ns)
		get->due_ns = get->latest_ns;
	if (get->due_ns <= sfs_clock_ns()) {
		sfs_origins_end_waiting(get);
		return false;
	}
	sfs_list_push(&f->delayed, &get->link);
	return true;
}

static void enqueue(struct sfs_fetch *f, struct sfs_get *get)
{
	if (!hold_back(f, get))
		sfs_origins_enqueue(&f->origins, get, sfs_clock_ns());
}

/* A server that got too many requests says when it wants more. */
static void hold(struct sfs_fetch *f, struct sfs_get *get)
{
	int64_t after_s = sfs_http_headers_after_s(&get->response.headers);
	struct sfs_link queued, *link;
	int i;

	if (!sfs_origin_hold(get, after_s, sfs_rng_next(&f->rng), sfs_clock_ns()))
		return;
	for (i = 0; i < 2 * SFS_N_QUEUES; i++) {
		sfs_list_init(&queued);
		sfs_list_move(&queued, &get->origin->queues[i / 2][i % 2]);
		while ((link = sfs_list_pop(&queued)) != NULL)
			enqueue(f, sfs_container(link, struct sfs_get, link));
	}
}

/* What does the end of an active GET say of its server? */
static void judge_server(struct sfs_fetch *f, struct sfs_get *get, int err,
			 enum sfs_fetch_outcome outcome, const char *why)
{
	const int status = get->response.headers.status;
	uint64_t now = sfs_clock_ns();
	char text[32];

	get->is_news = true;
	if (err < 0 && get->response.err == 0) {
		if (outcome <= SFS_FETCH_REFUSED && err != -ECANCELED && !get->is_probe)
			sfs_origin_failed(get, outcome == SFS_FETCH_REFUSED, why, now);
	} else if (status == 429 &&
		   sfs_http_headers_after_s(&get->response.headers) >= 0) {
		hold(f, get);
	} else if (status >= 500 || status == 408 || status == 425 || status == 429) {
		snprintf(text, sizeof text, "HTTP %d", status);
		if (!get->is_probe)
			sfs_origin_failed(get, false, text, now);
	} else if (err >= 0 && sfs_origin_succeeded(get, now)) {
		release(f, get->origin);
	}
}

/* Tell the owner what has changed. */
static void report_path(struct sfs_fetch *f)
{
	struct sfs_netpath p = sfs_origins_path(&f->origins, sfs_clock_ns());

	if (p.n_parallel == 0 ||
	    (p.n_parallel == f->reported.n_parallel && p.rtt_ns == f->reported.rtt_ns &&
	     p.wait_ns == f->reported.wait_ns &&
	     p.bytes_per_s == f->reported.bytes_per_s &&
	     p.is_slow == f->reported.is_slow))
		return;
	f->reported = p;
	f->options.path_changed(f->options.ctx, &p);
}

void sfs_fetch_finish(void *ctx, struct sfs_get *get, int err,
		      enum sfs_fetch_outcome outcome, const char *why)
{
	struct sfs_fetch *f = ctx;
	sfs_autofree char *failure = steal(&get->curl.failure);

	free(steal(&get->curl.refusal));
	if (get->is_active)
		judge_server(f, get, err, outcome, why);
	if (get->is_active && get->may_follow && err > 0)
		sfs_origin_cut(get);
	take_off(f, get);
	report_path(f); /* whoever waits for the end may ask next how far the server is */
	get->end(get, err, outcome, why);
}

/* libcurl has no more to do for the GET, or for a connection that nobody has yet. */
static void end_of_curl(void *ctx, struct sfs_get *get, int err,
			enum sfs_fetch_outcome outcome, const char *why)
{
	struct sfs_fetch *f = ctx;

	if (get->is_ahead)
		sfs_http1_gets_connected(f->http1, get, NULL);
	else
		sfs_fetch_finish(f, get, err, outcome, why);
}

/* libcurl has connected for a GET over a connection of ours. */
static void take_connection(void *ctx, struct sfs_get *get, struct sfs_http1 *conn)
{
	struct sfs_fetch *f = ctx;

	sfs_http1_gets_connected(f->http1, get, conn);
}

void sfs_fetch_drop(struct sfs_fetch *f, struct sfs_get *get)
{
	pthread_mutex_lock(&f->lock); /* it may be among the incoming */
	sfs_link_remove(&get->link);
	pthread_mutex_unlock(&f->lock);
	take_off(f, get);
	free(steal(&get->curl.failure));
	free(steal(&get->curl.refusal));
}

static void make_ready(struct sfs_fetch *f, struct sfs_get *get)
{
	sfs_origins_end_waiting(get);
	get->set_url(get);
	enqueue(f, get);
}

/* When it may be tried again, if its server is out of order. */
static void wait_for_server(struct sfs_fetch *f, struct sfs_get *get)
{
	struct sfs_outage *outage;

	get->set_url(get);
	sfs_origins_begin_waiting(&f->origins, get);
	outage = &get->origin->outage;
	if (outage->is_out)
		get->due_ns = sfs_outage_next_retry(outage, sfs_clock_ns(),
						    sfs_rng_next(&f->rng));
	if (get->due_ns > get->latest_ns)
		get->due_ns = get->latest_ns;
}

static void take_incoming(struct sfs_fetch *f)
{
	struct sfs_link arrived, *link;
	struct sfs_get *get;

	sfs_list_init(&arrived);
	pthread_mutex_lock(&f->lock);
	sfs_list_move(&arrived, &f->incoming);
	pthread_mutex_unlock(&f->lock);
	while ((link = sfs_list_pop(&arrived)) != NULL) {
		get = sfs_container(link, struct sfs_get, link);
		/* They are not looked at again before their turn comes. */
		if (atomic_load(get->is_cancelled)) {
			sfs_fetch_cancel(f, get);
		} else if (get->due_ns == 0) {
			make_ready(f, get);
		} else {
			if (get->is_retry)
				wait_for_server(f, get);
			sfs_list_push(&f->delayed, &get->link);
		}
	}
}

/* Move what is due to its queue. */
static void take_due(struct sfs_fetch *f, uint64_t now)
{
	struct sfs_link due, *link, *following;
	struct sfs_get *get;

	sfs_list_init(&due);
	for (link = f->delayed.next; link != &f->delayed; link = following) {
		following = link->next;
		get = sfs_container(link, struct sfs_get, link);
		if (get->due_ns <= now) {
			sfs_link_remove(&get->link);
			sfs_list_push(&due, &get->link);
		}
	}
	while ((link = sfs_list_pop(&due)) != NULL) { /* one may end others */
		get = sfs_container(link, struct sfs_get, link);
		if (atomic_load(get->is_cancelled))
			sfs_fetch_cancel(f, get);
		else
			make_ready(f, get);
	}
}

static uint64_t next_due(const struct sfs_fetch *f)
{
	uint64_t next = UINT64_MAX;

	SFS_EACH (get, &f->delayed, struct sfs_get, link) {
		if (get->due_ns < next)
			next = get->due_ns;
	}
	return next;
}

/* One that begins may add others, whose turn is next. */
static void start_ready(struct sfs_fetch *f)
{
	struct sfs_get *get;

	while ((get = sfs_origins_next(&f->origins)) != NULL) {
		begin(f, get);
		take_incoming(f);
	}
}

/* false: something has come in meanwhile. */
static bool end_thread(struct sfs_fetch *f)
{
	pthread_mutex_lock(&f->lock);
	f->has_ended = sfs_list_is_empty(&f->incoming);
	pthread_mutex_unlock(&f->lock);
	return f->has_ended;
}

static size_t n_active(const struct sfs_fetch *f)
{
	return (size_t)(f->origins.n_active[SFS_QUEUE_READ] +
			f->origins.n_active[SFS_QUEUE_SMALL]);
}

static void *work(void *arg)
{
	struct sfs_fetch *f = arg;
	uint64_t now, next, deadline;
	struct pollfd *fds;
	int wait_ms;
	unsigned n;

	while (!f->is_closed) {
		sfs_curl_run(f->curl);
		sfs_fetch_end_some(f, sfs_clock_ns());
		sfs_fetch_handle_late(f, sfs_clock_ns());
		/* Last before the poll: what ended just now has made room.  A handle
		 * that was added makes the poll return at once. */
		take_incoming(f);
		now = sfs_clock_ns();
		take_due(f, now);
		start_ready(f);
		report_path(f);
		next = next_due(f);
		deadline = sfs_fetch_next_deadline(f);
		next = deadline < next ? deadline : next;
		sfs_http1_gets_connect_ahead(f->http1, &f->active, &next);
		n = sfs_http1_gets_poll(f->http1, &f->active, n_active(f), &fds, &next);
		wait_ms = 1000;
		if (next < now + 1000 * SFS_NS_PER_MS)
			wait_ms =
				next > now ? (int)((next - now) / SFS_NS_PER_MS) + 1 : 0;
		sfs_curl_poll(f->curl, fds, n, wait_ms);
		sfs_http1_gets_run(f->http1);
	}
	do
		take_incoming(f);
	while (sfs_fetch_end_some(f, sfs_clock_ns()) > 0 || !end_thread(f));
	return NULL;
}

void sfs_fetch_free(struct sfs_fetch *f)
{
	sfs_origins_done(&f->origins);
	sfs_http1_gets_free(f->http1);
	sfs_curl_free(f->curl);
	sfs_user_headers_free(f->headers);
	free((char *)f->options.bearer_file);
	free((char *)f->options.header_command);
	free((char *)f->options.bearer_command);
	free((char *)f->options.proxy);
	free((char *)f->options.netrc_file);
	free((char *)f->options.ca_file);
	free((char *)f->options.ca_path);
	free((char *)f->options.cert);
	free((char *)f->options.key);
	pthread_mutex_destroy(&f->lock);
	free(f);
}

static const char *copy(const char *s)
{
	return s ? sfs_strdup(s) : NULL;
}

/* Connections need descriptors; the default limit is often 1024. */
static void allow_descriptors(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 ||
	    limit.rlim_cur >= 2 * SFS_FETCH_MAX_KEPT)
		return;
	limit.rlim_cur = limit.rlim_max < 2 * SFS_FETCH_MAX_KEPT ? limit.rlim_max
								 : 2 * SFS_FETCH_MAX_KEPT;
	setrlimit(RLIMIT_NOFILE, &limit);
}

static void copy_options(struct sfs_fetch_options *to,
			 const struct sfs_fetch_options *from)
{
	*to = *from;
	to->bearer_file = copy(from->bearer_file);
	to->header_command = copy(from->header_command);
	to->bearer_command = copy(from->bearer_command);
	to->proxy = copy(from->proxy);
	to->netrc_file = copy(from->netrc_file);
	to->ca_file = copy(from->ca_file);
	to->ca_path = copy(from->ca_path);
	to->cert = copy(from->cert);
	to->key = copy(from->key);
}

/* Refuse it as curl does.  libcurl, which must not require a ~/.netrc, would go on
 * without credentials. */
static int check_netrc(const char *path, struct sfs_error *err)
{
	if (!path || faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) == 0)
		return 0;
	return sfs_error_set(err, -errno, "option 'netrc-file': %s: %s", path,
			     strerror(errno));
}

static int add_command(struct sfs_fetch *f, const char *option, const char *command,
		       bool is_bearer, struct sfs_error *err)
{
	struct sfs_header_command *started;

	if (!command)
		return 0;
	started = sfs_header_command_start(option, command, is_bearer,
					   f->options.command_ms, err);
	if (!started)
		return -EINVAL;
	sfs_user_headers_add_command(f->headers, started);
	return 0;
}

/* Two of them would both be sent. */
static int check_authorization(const struct sfs_fetch *f, struct sfs_error *err)
{
	int i, n = 0;

	for (i = 0; i < sfs_user_headers_n(f->headers); i++)
		n += strncasecmp(sfs_user_headers_line(f->headers, i),
				 "Authorization:", 14) == 0;
	if (n <= 1 || (!f->options.bearer_file && !f->options.bearer_command))
		return 0;
	return sfs_error_set(err, -EINVAL,
			     "option '%s': another option gives the header "
			     "'Authorization', too",
			     f->options.bearer_file ? "bearer-token-file"
						    : "bearer-token-command");
}

/* All that options say of headers. */
static int make_headers(struct sfs_fetch *f, struct sfs_error *err)
{
	const struct sfs_fetch_options *o = &f->options;
	int ret = 0;

	f->headers = sfs_user_headers_new(o->headers, o->n_headers);
	if (o->bearer_file && o->bearer_command)
		return sfs_error_set(err, -EINVAL,
				     "options 'bearer-token-file' and "
				     "'bearer-token-command' exclude each other");
	if (o->bearer_file)
		ret = sfs_user_headers_add_bearer_file(f->headers, o->bearer_file, err);
	if (ret == 0)
		ret = add_command(f, "header-command", o->header_command, false, err);
	if (ret == 0)
		ret = add_command(f, "bearer-token-command", o->bearer_command, true,
				  err);
	return ret == 0 ? check_authorization(f, err) : ret;
}

struct sfs_fetch *sfs_fetch_start(const struct sfs_fetch_options *options,
				  struct sfs_error *err)
{
	struct sfs_fetch *f = sfs_calloc(1, sizeof *f);
	const struct sfs_curl_events curl_events = {end_of_curl, take_connection, f};
	const struct sfs_http1_gets_events http1_events = {sfs_fetch_finish, become_first,
							   queue_again, f};

	if (check_netrc(options->netrc_file, err) < 0) {
		free(f);
		return NULL;
	}
	copy_options(&f->options, options);
	pthread_mutex_init(&f->lock, NULL);
	sfs_list_init(&f->incoming);
	sfs_list_init(&f->delayed);
	sfs_list_init(&f->active);
	sfs_origins_init(&f->origins, options->n_connections, options->n_small);
	f->rng.state = sfs_clock_ns();
	allow_descriptors();
	if (make_headers(f, err) == 0)
		f->curl = sfs_curl_new(&f->options, f->headers, &curl_events, err);
	if (!f->curl) {
		sfs_fetch_free(f);
		return NULL;
	}
	f->http1 = sfs_http1_gets_new(&f->options, f->headers, f->curl, &http1_events);
	f->thread = sfs_thread_start("sfs-fetch", work, f);
	return f;
}

void sfs_fetch_stop(struct sfs_fetch *f)
{
	f->is_closed = true;
	sfs_curl_wake(f->curl);
	pthread_join(f->thread, NULL);
}

void sfs_fetch_add(struct sfs_fetch *f, struct sfs_get *get, uint64_t delay_ms)
{
	bool has_ended;

	get->due_ns = delay_ms ? sfs_clock_ns() + delay_ms * SFS_NS_PER_MS : 0;
	get->curl.easy = get->curl.header_list = NULL;
	get->curl.failure = get->curl.refusal = NULL;
	get->http1.request = get->http1.origin = NULL;
	get->http1.conn = NULL;
	get->http1.before = get->http1.behind = NULL;
	get->is_active = get->is_waiting = get->is_behind = get->http1.is_last = false;
	get->http1.is_shared = false;
	get->http1.n_before = 0;
	pthread_mutex_lock(&f->lock);
	has_ended = f->has_ended;
	if (!has_ended)
		sfs_list_push(&f->incoming, &get->link);
	pthread_mutex_unlock(&f->lock);
	if (has_ended)
		get->end(get, -ECANCELED, SFS_FETCH_FINAL, "cancelled");
	else
		sfs_curl_wake(f->curl);
}

void sfs_fetch_wake(struct sfs_fetch *f)
{
	atomic_store(&f->has_cancelled, true);
	sfs_curl_wake(f->curl);
}
