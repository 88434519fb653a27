/* SPDX-License-Identifier: MIT */
/* scripted-fetch - the functions of fetch.h, without a thread, a network and libcurl.
 *
 * A test that includes this has them instead of the real ones.  GETs that are added stay
 * pending until the test lets their turn come, gives them a response piece by piece, or
 * ends them, in any order; the test's thread is the fetch thread.  Delays do not count.
 *
 * What the real one promises, this does as well: place() comes before start(), start()
 * before the response; a GET that end() was called for, or that was dropped, is not
 * pending; a function that ends a GET says so, because it may have gone, memory and all.
 *
 * The lower half has requests and an object for tests of transfer.c. */
#ifndef SFS_TESTS_SCRIPTED_FETCH_H
#define SFS_TESTS_SCRIPTED_FETCH_H

#include "base/alloc.h"
#include "base/clock.h"
#include "check.h"
#include "source/http/fetch.h"
#include "source/source.h"

#include <errno.h>
#include <stdarg.h>

struct sfs_fetch {
	struct sfs_fetch_options options;
	struct sfs_link pending;
	bool is_stopped;
	bool is_in_place;    /* bodies go where room() says, not through body() */
	unsigned edition;    /* of the user's headers */
	uint64_t cold_bytes; /* of each server */
	const struct sfs_netpath_record *path; /* to the server of what begins */
	uint64_t last_delay_ms;		       /* of the GET that was added last */
	int n_ended, n_dropped;
};

static struct sfs_fetch script;

/* ---- what fetch.h promises ---- */

struct sfs_fetch *sfs_fetch_start(const struct sfs_fetch_options *options,
				  struct sfs_error *err)
{
	script = (struct sfs_fetch){.options = *options,
				    .is_in_place = script.is_in_place};
	sfs_list_init(&script.pending);
	return &script;
}

static inline void script_finish(struct sfs_get *get, int err,
				 enum sfs_fetch_outcome outcome, const char *why)
{
	sfs_link_remove(&get->link);
	get->is_active = false;
	script.n_ended++;
	get->end(get, err, outcome, why);
}

static inline struct sfs_get *script_nth(size_t n)
{
	SFS_EACH (get, &script.pending, struct sfs_get, link) {
		if (n-- == 0)
			return get;
	}
	return NULL;
}

void sfs_fetch_stop(struct sfs_fetch *f)
{
	f->is_stopped = true;
	while (script_nth(0))
		script_finish(script_nth(0), -ECANCELED, SFS_FETCH_FINAL, "cancelled");
}

void sfs_fetch_free(struct sfs_fetch *f)
{
	CHECK(f->is_stopped && sfs_list_is_empty(&f->pending));
}

void sfs_fetch_add(struct sfs_fetch *f, struct sfs_get *get, uint64_t delay_ms)
{
	get->is_active = get->response.has_head = false;
	f->last_delay_ms = delay_ms;
	if (f->is_stopped)
		get->end(get, -ECANCELED, SFS_FETCH_FINAL, "cancelled");
	else
		sfs_list_push(&f->pending, &get->link);
}

void sfs_fetch_drop(struct sfs_fetch *f, struct sfs_get *get)
{
	sfs_link_remove(&get->link);
	f->n_dropped++;
}

enum sfs_renewal sfs_fetch_renew_headers(struct sfs_fetch *f, const struct sfs_get *get,
					 bool may_run)
{
	return f->edition != get->user_headers_edition ? SFS_RENEWAL_NOW : SFS_RENEWAL_NO;
}

/* All that were cancelled end.  (The real one does so soon, on its own thread.) */
void sfs_fetch_wake(struct sfs_fetch *f)
{
	struct sfs_get *get;
	size_t i = 0;

	while ((get = script_nth(i)) != NULL) {
		if (!atomic_load(get->is_cancelled)) {
			i++;
			continue;
		}
		script_finish(get, -ECANCELED, SFS_FETCH_FINAL, "cancelled");
		i = 0; /* others may have gone with it */
	}
}

/* ---- the script ---- */

static inline size_t script_n(void)
{
	size_t n = 0;

	SFS_EACH (get, &script.pending, struct sfs_get, link)
		n++;
	return n;
}

/* Its turn comes: it is sent to get->url. */
static inline void script_begin(struct sfs_get *get)
{
	get->set_url(get);
	CHECK(get->url != NULL);
	get->cold_bytes = script.cold_bytes;
	get->path = script.path;
	get->late_ns = 0;
	get->start(get);
	if (get->has_user_headers)
		get->user_headers_edition = script.edition;
	get->sent_ns = sfs_clock_ns();
	sfs_http_headers_init(&get->response.headers);
	get->response.err = 0;
	get->is_active = true;
}

/* The headers of a response, lines that end with \n.  false: that ended the GET. */
static inline bool script_head(struct sfs_get *get, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static inline bool script_head(struct sfs_get *get, const char *format, ...)
{
	char text[4096], *line, *rest = text;
	va_list args;

	CHECK(get->is_active && !get->response.has_head);
	va_start(args, format);
	CHECK(vsnprintf(text, sizeof text, format, args) < (int)sizeof text);
	va_end(args);
	while ((line = strsep(&rest, "\n")) != NULL)
		sfs_http_headers_add(&get->response.headers, line, strlen(line), 0);
	get->response.has_head = true;
	get->response.err = get->head(get, &get->response.headers);
	if (get->response.err >= 0)
		return true;
	script_finish(get, get->response.err, SFS_FETCH_PASSING, "refused");
	return false;
}

/* The next n bytes of the body into their place; what has none is dropped. */
static inline int script_body_in_place(struct sfs_get *get, const char *bytes, size_t n)
{
	struct iovec pieces[2];
	int n_pieces = get->room(get, pieces, 2), i;
	size_t n_piece, n_put = 0;

	for (i = 0; i < n_pieces && n_put < n; i++) {
		n_piece = pieces[i].iov_len < n - n_put ? pieces[i].iov_len : n - n_put;
		memcpy(pieces[i].iov_base, bytes + n_put, n_piece);
		n_put += n_piece;
	}
	if (n_pieces == 0)
		n_put = n;
	get->response.err = get->received(get, n_put);
	return get->response.err < 0 || n_put == n
		       ? get->response.err
		       : script_body_in_place(get, bytes + n_put, n - n_put);
}

/* Bytes of the body.  false: that ended the GET. */
static inline bool script_body(struct sfs_get *get, const void *bytes, size_t n)
{
	CHECK(get->response.has_head);
	if (get->response.err > 0) /* it is not wanted */
		return true;
	if (script.is_in_place)
		script_body_in_place(get, bytes, n);
	else
		get->response.err = get->body(get, bytes, n);
	if (get->response.err >= 0)
		return true;
	script_finish(get, get->response.err, SFS_FETCH_PASSING, "refused");
	return false;
}

/* The response has come to its end. */
static inline void script_end(struct sfs_get *get)
{
	CHECK(get->response.has_head);
	script_finish(get, get->response.err, SFS_FETCH_PASSING, "");
}

/* There is no response, or it breaks off. */
static inline void script_fail(struct sfs_get *get, int err,
			       enum sfs_fetch_outcome outcome, const char *why)
{
	get->is_news = true;
	script_finish(get,
		      get->is_active && get->response.err != 0 ? get->response.err : err,
		      outcome, why);
}

static inline void script_lose(struct sfs_get *get)
{
	script_fail(get, -ECONNRESET, SFS_FETCH_PASSING, "Connection reset by peer");
}

/* It is late. */
static inline void script_late(struct sfs_get *get)
{
	CHECK(get->is_active && get->late_ns > 0);
	get->late_ns = 0;
	get->late(get);
}

/* ---- requests ---- */

#define GUARD 64 /* bytes around a request's memory, which nobody may write */

/* A request whose memory lies in two pieces. */
struct asked {
	struct sfs_request request;
	struct sfs_error error;
	int n_done, err;
	unsigned char *memory[2];
	size_t n[2];
	struct iovec iov[2];
	unsigned char head[SFS_HEAD_BYTES];
};

static inline void asked_done(struct sfs_request *request, int err)
{
	struct asked *a = sfs_container(request, struct asked, request);

	a->n_done++;
	a->err = err;
}

static inline void asked_ready(struct sfs_request *request)
{
}

static inline void ask_for_size(struct asked *a, struct sfs_object *object)
{
	*a = (struct asked){.request = {.kind = SFS_REQUEST_ASK,
					.object = object,
					.head = a->head,
					.error = &a->error,
					.done = asked_done}};
	sfs_request_submit(&a->request);
}

static inline void prepare_read(struct asked *a, struct sfs_object *object,
				uint64_t offset, size_t n)
{
	int i;

	*a = (struct asked){.request = {.kind = SFS_REQUEST_READ,
					.object = object,
					.offset = offset,
					.n_bytes = n,
					.iov = a->iov,
					.n_iov = 2,
					.error = &a->error,
					.ready = asked_ready,
					.done = asked_done},
			    .n = {n / 3 + 1, n - n / 3 - 1}};
	for (i = 0; i < 2; i++) {
		a->memory[i] = sfs_calloc(1, a->n[i] + 2 * GUARD);
		memset(a->memory[i], 0xa5, a->n[i] + 2 * GUARD);
		a->iov[i] = (struct iovec){a->memory[i] + GUARD, a->n[i]};
	}
	if (a->n[1] == 0)
		a->request.n_iov = 1;
}

static inline void ask_for_bytes(struct asked *a, struct sfs_object *object,
				 uint64_t offset, size_t n)
{
	prepare_read(a, object, offset, n);
	sfs_request_submit(&a->request);
}

/* Byte `at` of what the request has got. */
static inline unsigned char asked_byte(const struct asked *a, size_t at)
{
	return at < a->n[0] ? a->memory[0][GUARD + at]
			    : a->memory[1][GUARD + at - a->n[0]];
}

/* It is over, its guards are whole, and none of its GETs is left. */
static inline void asked_free(struct asked *a)
{
	size_t j;
	int i;

	CHECK_EQ(a->n_done, 1);
	SFS_EACH (get, &script.pending, struct sfs_get, link)
		CHECK(get->is_cancelled != &a->request.is_cancelled);
	for (i = 0; i < 2; i++) {
		for (j = 0; a->memory[i] && j < GUARD; j++) {
			CHECK_EQ(a->memory[i][j], 0xa5);
			CHECK_EQ(a->memory[i][GUARD + a->n[i] + j], 0xa5);
		}
		free(steal(&a->memory[i]));
	}
}

static inline void make_object(struct sfs_object *object, struct sfs_source *source,
			       const char *url)
{
	struct sfs_error err;
	struct sfs_uri uri;

	CHECK_EQ(sfs_uri_parse(url, &uri, &err), 0);
	sfs_object_init(object, &uri, source);
	object->name = "x.tar";
}

#endif
