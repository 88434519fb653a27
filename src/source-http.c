/* SPDX-License-Identifier: MIT */
/* How this works: every request becomes GETs with a Range, one after the other
 * until its bytes are there.  All of it runs on the fetch thread, so a request's
 * state has one owner.
 *
 * An answer is believed only after its status, Content-Range (start, end and
 * total), Content-Encoding and version were compared with what was asked.
 * If-Match goes along where there is a strong tag, and the tag of every answer
 * is compared all the same: AIStore and WebHDFS ignore If-Match, MinIO ignores
 * If-Range (so we never send that).
 *
 * The size comes from the Content-Range of a small range, never from HEAD, which
 * presigned URLs and WebHDFS refuse.
 *
 * Redirects are followed here, one hop a GET: only to the origin that the user
 * named do the user's headers and password go.  Where they end is remembered
 * for the object, so that a range costs one round trip; when that place fails,
 * the object's own URL is asked again. */
#include "source.h"

#include "clock.h"
#include "fetch.h"
#include "ledger.h"
#include "mem.h"
#include "retry.h"
#include "rng.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define ASK_BYTES     512
#define MAX_REDIRECTS 10
#define N_ASKS	      64 /* sizes asked for at a time */

struct http_source {
	struct sfs_source base;
	struct sfs_http_options options;
	struct sfs_fetch *fetch;
	struct sfs_rng chance; /* the fetch thread's own */
};

/* What head() found, if not simply the bytes that were asked for. */
enum outcome {
	AGAIN = 1, /* may be better next time */
	REDIRECT,
	FINAL, /* stays so: state->err */
	EMPTY, /* an object of no bytes */
};

struct state {
	struct sfs_get get; /* first, so that a get is its state */
	struct http_source *source;
	struct sfs_request *request;
	char *url; /* of this hop */
	int n_redirects;
	bool is_remembered; /* url is where an earlier redirect led */
	bool has_forgotten; /* such a URL failed: use none again */
	struct sfs_retry retry;
	uint64_t n_got;	       /* bytes of the request that are in place */
	uint64_t n_got_before; /* the same when this GET began */
	int err;	       /* of FINAL */
	char why[512];	       /* of AGAIN and FINAL */
};

static void begin_get(struct state *st, uint64_t delay_ms);

static int again(struct state *st, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static int final(struct state *st, int err, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static int again(struct state *st, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(st->why, sizeof st->why, format, args);
	va_end(args);
	return AGAIN;
}

static int final(struct state *st, int err, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(st->why, sizeof st->why, format, args);
	va_end(args);
	st->err = err;
	return FINAL;
}

/* The range that this GET asks for. */
static uint64_t first_of(const struct state *st)
{
	return st->request->offset + st->n_got;
}

static uint64_t last_of(const struct state *st)
{
	return st->request->offset + st->request->n_bytes - 1;
}

/* ---- what an answer means ---- */

static int changed(struct state *st, const char *what, const char *was, const char *is)
{
	return final(st, -ESTALE,
		     "the object changed since the mount began: %s was %s, is %s", what,
		     *was ? was : "none", *is ? is : "none");
}

/* Is the answer of the version that was asked for its size? */
static int check_version(struct state *st, const struct sfs_http_answer *a)
{
	const struct sfs_object *o = st->request->object;
	char was[32], is[32];

	if (a->total != SFS_HTTP_UNKNOWN && a->total != o->size) {
		snprintf(was, sizeof was, "%llu", (unsigned long long)o->size);
		snprintf(is, sizeof is, "%llu", (unsigned long long)a->total);
		return changed(st, "its size", was, is);
	}
	if (st->source->options.verify_size_only)
		return 0;
	if (o->tag && sfs_http_etag_is_strong(a->etag)) {
		if (strcmp(o->tag, a->etag) != 0)
			return changed(st, "its ETag", o->tag, a->etag);
	} else if (strcmp(o->modified ? o->modified : "", a->last_modified) != 0) {
		return changed(st, "Last-Modified", o->modified ? o->modified : "",
			       a->last_modified);
	}
	return 0;
}

/* 206 to a read. */
static int check_range(struct state *st, const struct sfs_http_answer *a)
{
	if (a->is_multipart || !a->has_range)
		return again(st, "HTTP 206 without a usable Content-Range");
	if (a->first != first_of(st) || a->last > last_of(st))
		return again(st, "asked for bytes %llu-%llu, got %llu-%llu",
			     (unsigned long long)first_of(st),
			     (unsigned long long)last_of(st),
			     (unsigned long long)a->first, (unsigned long long)a->last);
	if (a->length != SFS_HTTP_UNKNOWN && a->length != a->last - a->first + 1)
		return again(st, "Content-Length %llu does not match Content-Range",
			     (unsigned long long)a->length);
	return check_version(st, a);
}

/* 200 to a read: the whole object, which is right only if all was asked for. */
static int check_whole(struct state *st, const struct sfs_http_answer *a)
{
	struct sfs_http_answer whole = *a;

	if (a->length != st->request->object->size || first_of(st) != 0 ||
	    last_of(st) + 1 != a->length)
		return again(st, "HTTP 200 for a range: the server ignores Range");
	whole.total = a->length;
	return check_version(st, &whole);
}

/* The ask has its answer, all of it: this is the object from now on. */
static void learn(struct state *st)
{
	const struct sfs_http_answer *a = &st->get.answer;
	struct sfs_object *o = st->request->object;
	struct tm tm = {0};

	free(o->tag);
	free(o->modified);
	o->tag = sfs_http_etag_is_strong(a->etag) ? sfs_strdup(a->etag) : NULL;
	o->modified = a->last_modified[0] ? sfs_strdup(a->last_modified) : NULL;
	if (strptime(a->last_modified, "%a, %d %b %Y %H:%M:%S GMT", &tm))
		o->mtime_s = timegm(&tm);
	o->size = a->status == 206 ? a->total : 0;
}

/* 206 or 200 to an ask. */
static int take_ask(struct state *st, const struct sfs_http_answer *a)
{
	if (a->status == 200 && a->length == 0)
		return EMPTY;
	if (a->status == 200)
		return final(st, -EOPNOTSUPP,
			     "the server does not serve ranges (it answered "
			     "HTTP 200 to a request for %d bytes); shufflefs needs them",
			     ASK_BYTES);
	if (a->is_multipart || !a->has_range || a->first != 0)
		return again(st, "HTTP 206 without a usable Content-Range");
	if (a->total == SFS_HTTP_UNKNOWN)
		return final(st, -EOPNOTSUPP,
			     "the server does not say how large the object is "
			     "(Content-Range without a total)");
	return 0;
}

static int take_failure(struct state *st, const struct sfs_http_answer *a)
{
	bool is_ask = st->request->kind == SFS_REQUEST_ASK;

	switch (a->status) {
	case 301:
	case 302:
	case 303:
	case 307:
	case 308: return REDIRECT;
	case 416:
		if (is_ask && (a->total == 0 || a->total == SFS_HTTP_UNKNOWN))
			return EMPTY;
		return final(st, -ESTALE, "HTTP 416: the object became shorter");
	case 412:
		return changed(st, "its ETag", st->get.if_match ? st->get.if_match : "",
			       a->etag[0] ? a->etag : "another");
	case 401:
	case 403:
	case 407: return final(st, -EACCES, "HTTP %d", a->status);
	case 404:
	case 410: return final(st, -ENOENT, "HTTP %d", a->status);
	case 408:
	case 425:
	case 429: return again(st, "HTTP %d", a->status);
	}
	if (a->status >= 500)
		return again(st, "HTTP %d", a->status);
	return final(st, -EIO, "HTTP %d", a->status);
}

static int on_head(struct sfs_get *get, const struct sfs_http_answer *a)
{
	struct state *st = (struct state *)get;

	if (a->status != 206 && a->status != 200)
		return take_failure(st, a);
	if (a->encoding[0])
		return final(st, -EIO,
			     "the server sent Content-Encoding '%s', which was not "
			     "asked for",
			     a->encoding);
	if (st->request->kind == SFS_REQUEST_ASK)
		return take_ask(st, a);
	return a->status == 206 ? check_range(st, a) : check_whole(st, a);
}

/* ---- the bytes ---- */

static int on_body(struct sfs_get *get, const char *bytes, size_t n)
{
	struct state *st = (struct state *)get;
	struct sfs_request *r = st->request;
	struct iovec *iov = r->iov;
	uint64_t skip = st->n_got;
	size_t piece;

	if (r->kind == SFS_REQUEST_ASK)
		return 0;
	sfs_request_begun(r);
	if (n > r->n_bytes - st->n_got) {
		again(st, "more bytes than were asked for");
		return -EPROTO;
	}
	/* The pieces are few (slabs), and chunks are large: finding the place anew
	 * each time costs nothing. */
	while (skip >= iov->iov_len)
		skip -= (iov++)->iov_len;
	st->n_got += n;
	while (n > 0) {
		piece = iov->iov_len - skip < n ? iov->iov_len - skip : n;
		memcpy((char *)iov->iov_base + skip, bytes, piece);
		bytes += piece;
		n -= piece;
		skip = 0;
		iov++;
	}
	return 0;
}

/* ---- the end of a GET ---- */

static void end_request(struct state *st, int err)
{
	struct sfs_request *r = st->request;
	enum sfs_event event = err == -ESTALE ? SFS_EVENT_CHANGED : SFS_EVENT_LOST;

	if (err < 0 && err != -ECANCELED) {
		sfs_autofree char *shown =
			sfs_uri_redact(st->url ? st->url : r->object->uri.location);

		sfs_error_set(r->error, err, "%s: %s", shown, st->why);
		if (r->kind == SFS_REQUEST_READ)
			sfs_ledger_add(event, r->object->name, first_of(st), "", "%s: %s",
				       shown, st->why);
	}
	r->n_got = st->n_got;
	free(st->url);
	free(st);
	sfs_request_end(r, err);
}

/* A try failed in a way that may pass. */
static void try_again(struct state *st, int err, enum sfs_fetch_verdict verdict,
		      int64_t retry_after_s)
{
	struct sfs_request *r = st->request;
	int limit = st->source->options.n_retries;
	uint64_t delay_ms;
	char then[64];

	if (r->is_probe)
		limit = verdict == SFS_FETCH_REFUSED ? 0 : limit < 2 ? limit : 2;
	if (!sfs_retry_next(&st->retry, limit, st->n_got - st->n_got_before,
			    retry_after_s, sfs_rng_next(&st->source->chance),
			    &delay_ms)) {
		end_request(st, err);
		return;
	}
	snprintf(then, sizeof then, "retry %d of %d in %llu ms", st->retry.n_failed,
		 limit, (unsigned long long)delay_ms);
	if (!r->is_probe)
		sfs_ledger_add(SFS_EVENT_RETRY, r->object->name,
			       r->kind == SFS_REQUEST_ASK ? SFS_NO_OFFSET : first_of(st),
			       then, "%s", st->why);
	begin_get(st, delay_ms);
}

/* Begin again at the object's own URL. */
static void forget_redirect(struct state *st)
{
	struct sfs_object *o = st->request->object;

	free(steal(&o->redirected));
	free(steal(&st->url));
	st->has_forgotten = true;
	st->n_redirects = 0;
}

static void follow(struct state *st)
{
	const char *location = st->get.answer.location;
	char *to = *location ? sfs_fetch_resolve(st->url, location) : NULL;
	bool is_downgrade = to && sfs_fetch_is_downgrade(st->url, to);

	if (!to || is_downgrade || ++st->n_redirects > MAX_REDIRECTS) {
		final(st, -EIO,
		      !to ? "a redirect to nowhere"
		      : is_downgrade
			      ? "a redirect from https to http, which is not followed"
			      : "more than 10 redirects");
		free(to);
		end_request(st, st->err);
		return;
	}
	free(st->url);
	st->url = to;
	begin_get(st, 0);
}

static void remember_redirect(struct state *st)
{
	struct sfs_object *o = st->request->object;

	if (st->n_redirects == 0)
		return;
	free(o->redirected);
	o->redirected = sfs_strdup(st->url);
}

static void on_end(struct sfs_get *get, int err, enum sfs_fetch_verdict verdict,
		   const char *why)
{
	struct state *st = (struct state *)get;
	struct sfs_request *r = st->request;
	int64_t retry_after_s = err == AGAIN ? get->answer.retry_after_s : -1;

	if (err == -ECANCELED) {
		end_request(st, err);
	} else if (err == REDIRECT) {
		follow(st);
	} else if (err == EMPTY) {
		learn(st);
		end_request(st, 0);
	} else if (err == 0 && st->n_got < r->n_bytes && st->n_got > st->n_got_before &&
		   get->answer.has_range && first_of(st) == get->answer.last + 1) {
		begin_get(st, 0); /* the server gives less at a time, as it may */
	} else if (err == 0 && (r->kind == SFS_REQUEST_ASK || st->n_got == r->n_bytes)) {
		if (r->kind == SFS_REQUEST_ASK)
			learn(st);
		remember_redirect(st);
		end_request(st, 0);
	} else if (err != 0 && st->is_remembered && err != AGAIN) {
		/* A signature may have expired, a target gone: ask the first again. */
		forget_redirect(st);
		begin_get(st, 0);
	} else if (err == FINAL) {
		end_request(st, st->err);
	} else {
		if (err == 0)
			again(st, "the body ended %llu bytes early",
			      (unsigned long long)(r->n_bytes - st->n_got));
		else if (err != AGAIN && err != -EPROTO)
			again(st, "%s", why);
		if (verdict == SFS_FETCH_FINAL)
			end_request(st, err);
		else
			try_again(st, err < 0 ? err : -EIO, verdict, retry_after_s);
	}
}

/* The GET's turn has come: now is the time to look where the object is. */
static void on_start(struct sfs_get *get)
{
	struct state *st = (struct state *)get;
	const struct sfs_object *o = st->request->object;
	bool is_ask = st->request->kind == SFS_REQUEST_ASK, is_ours;

	if (!st->url) {
		st->is_remembered = o->redirected != NULL && !st->has_forgotten;
		st->url = sfs_strdup(st->is_remembered ? o->redirected : o->uri.location);
	}
	is_ours = sfs_fetch_same_origin(st->url, o->uri.location);
	st->n_got_before = st->n_got;
	get->url = st->url;
	get->user = is_ours ? o->uri.user : NULL;
	get->has_headers = is_ours;
	get->if_match = is_ask || st->source->options.verify_size_only ? NULL : o->tag;
	get->first = is_ask ? 0 : first_of(st);
	get->last = is_ask ? ASK_BYTES - 1 : last_of(st);
}

static void begin_get(struct state *st, uint64_t delay_ms)
{
	struct sfs_request *r = st->request;

	st->get = (struct sfs_get){
		.is_ask = r->kind == SFS_REQUEST_ASK,
		.is_urgent = r->is_urgent,
		.is_cancelled = &r->is_cancelled,
		.start = on_start,
		.head = on_head,
		.body = on_body,
		.end = on_end,
	};
	sfs_fetch_add(st->source->fetch, &st->get, delay_ms);
}

static void submit(struct sfs_source *source, struct sfs_request *r)
{
	struct state *st = sfs_calloc(1, sizeof *st);

	st->source = sfs_container(source, struct http_source, base);
	st->request = r;
	begin_get(st, 0);
}

static void wake(struct sfs_source *source)
{
	sfs_fetch_wake(sfs_container(source, struct http_source, base)->fetch);
}

static void stop(struct sfs_source *source)
{
	sfs_fetch_stop(sfs_container(source, struct http_source, base)->fetch);
}

static void free_source(struct sfs_source *source)
{
	struct http_source *s = sfs_container(source, struct http_source, base);

	sfs_fetch_free(s->fetch);
	free(s);
}

struct sfs_source *sfs_source_http_start(const struct sfs_http_options *options,
					 struct sfs_error *err)
{
	static const struct sfs_source_ops ops = {.name = "http",
						  .submit = submit,
						  .wake = wake,
						  .stop = stop,
						  .free = free_source};
	const struct sfs_fetch_options fetch_options = {
		.n_connections = options->n_connections,
		.n_asks = N_ASKS,
		.connect_timeout_ms = options->connect_timeout_ms,
		.stall_timeout_ms = options->stall_timeout_ms,
		.headers = options->headers,
		.n_headers = options->n_headers,
		.proxy = options->proxy,
		.netrc_file = options->netrc_file,
		.ca_file = options->ca_file,
		.ca_path = options->ca_path,
		.cert = options->cert,
		.key = options->key,
	};
	struct http_source *s = sfs_calloc(1, sizeof *s);

	s->base.ops = &ops;
	s->options = *options;
	s->chance.state = sfs_clock_ns();
	s->fetch = sfs_fetch_start(&fetch_options, err);
	if (!s->fetch) {
		free(s);
		return NULL;
	}
	return &s->base;
}
