/* SPDX-License-Identifier: MIT */
/* How this works: a file is fetched by GETs, one after another, until one brings it, or
 * the failure is final.  They and what follows from them are the fetch thread's; the
 * caller waits for the end.  It is what transfer.c does, without ranges, versions, hedges
 * and deadlines of readers. */
#include "source/http/whole.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/cond.h"
#include "base/rng.h"
#include "base/stall.h"
#include "source/http/curl-url.h"
#include "source/http/http-source.h"
#include "source/retry.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define MAX_REDIRECTS 10
#define MOST_RETRIES  2
#define RENEWAL_MS    250 /* until a GET is sent again while credentials are renewed */
#define PIECE	      (64 << 10)

struct sfs_whole {
	struct sfs_fetch *fetch;
	struct sfs_store plain;
	int n_retries;
	pthread_mutex_t lock; /* guards `is_over` of a file */
	pthread_cond_t ended;
};

struct file {
	struct sfs_get get; /* first, so that a get is its file */
	struct sfs_whole *whole;
	struct sfs_store *store;
	struct sfs_object object;
	size_t most;
	uint64_t until_ns;
	struct sfs_rng rng;
	struct sfs_retry retry;
	int n_redirects, n_renewed;
	bool is_over;
	int err;
	struct sfs_response_error error;

	/* The present GET. */
	char *url;
	struct sfs_strbuf lines, body; /* body: or, if it was refused, why */
	enum sfs_response_outcome refused; /* not 0: it was */
	struct sfs_http_query query;
	atomic_bool is_cancelled, is_needed;
	char piece[PIECE];
};

static void begin(struct file *f, uint64_t delay_ms);

static struct file *file_of(struct sfs_get *get)
{
	return (struct file *)get;
}

/* ---- the body ---- */

static int refuse_size(struct file *f)
{
	sfs_response_final(&f->error, -EFBIG,
			   "it is larger than %zu MiB, so it is no list of shards",
			   f->most >> 20);
	return -EFBIG;
}

/* 200: all that there is follows. */
static int take_head(struct file *f, const struct sfs_http_headers *a)
{
	if (a->encoding[0])
		return sfs_response_doubt(&f->error, -EIO,
					  "the server sent Content-Encoding '%s', which "
					  "was not asked for",
					  a->encoding);
	return a->length != SFS_HTTP_UNKNOWN && a->length > f->most ? refuse_size(f) : 0;
}

static int on_head(struct sfs_get *get, const struct sfs_http_headers *a)
{
	struct file *f = file_of(get);
	const struct sfs_dialect *dialect = f->store->dialect;
	enum sfs_response_outcome outcome;

	if (a->status == 200)
		return take_head(f, a);
	if (a->status == 206)
		return sfs_response_again(&f->error,
					  "HTTP 206 to a request without a range");
	outcome = dialect->judge(f->store, &f->query, a, &f->error);
	if (outcome != SFS_RESPONSE_REDIRECT && outcome != SFS_RESPONSE_FINAL &&
	    outcome != SFS_RESPONSE_AGAIN)
		return sfs_response_again(&f->error, "HTTP %d", a->status);
	if (outcome == SFS_RESPONSE_REDIRECT || !dialect->explain || a->length == 0)
		return (int)outcome;
	f->refused = outcome;
	return 0;
}

static int on_body(struct sfs_get *get, const char *bytes, size_t n)
{
	struct file *f = file_of(get);
	size_t room = f->refused ? SFS_REFUSAL_BYTES - f->body.n : f->most - f->body.n;

	if (n > room && !f->refused)
		return refuse_size(f);
	sfs_strbuf_add(&f->body, bytes, n < room ? n : room);
	return n > room ? -EALREADY : 0;
}

static int on_room(struct sfs_get *get, struct iovec *pieces, int n_max)
{
	*pieces = (struct iovec){file_of(get)->piece, PIECE};
	return 1;
}

static int on_received(struct sfs_get *get, size_t n)
{
	return on_body(get, file_of(get)->piece, n);
}

/* ---- the end of a GET ---- */

/* After this the file is the caller's. */
static void finish(struct file *f, int err)
{
	struct sfs_whole *w = f->whole;

	pthread_mutex_lock(&w->lock);
	f->err = err;
	f->is_over = true;
	pthread_cond_broadcast(&w->ended);
	pthread_mutex_unlock(&w->lock);
}

/* From its own URL on. */
static void begin_anew(struct file *f, uint64_t delay_ms)
{
	free(steal(&f->url));
	f->n_redirects = 0;
	begin(f, delay_ms);
}

static void try_again(struct file *f, int err, enum sfs_fetch_outcome outcome)
{
	const struct sfs_http_headers *a = &f->get.response.headers;
	int64_t after_s = err == SFS_RESPONSE_AGAIN ? sfs_http_headers_after_s(a) : -1;
	int limit = f->whole->n_retries < MOST_RETRIES ? f->whole->n_retries
						       : MOST_RETRIES;
	uint64_t delay_ms;

	if (err == SFS_RESPONSE_AGAIN && a->status == 429 && after_s >= 0)
		limit = INT_MAX; /* as often as the server says, while there is time */
	else if (err < 0 && outcome == SFS_FETCH_REFUSED)
		limit = 1;
	if (!sfs_retry_next(&f->retry, limit, 0, after_s, sfs_rng_next(&f->rng),
			    &delay_ms) ||
	    sfs_clock_ns() + delay_ms * SFS_NS_PER_MS >= f->until_ns) {
		finish(f, f->error.err < 0 ? f->error.err : -EIO);
		return;
	}
	if (f->store->dialect->avoid && f->url)
		f->store->dialect->avoid(f->store, f->url);
	begin_anew(f, delay_ms);
}

static void follow_redirect(struct file *f)
{
	char *to = f->store->dialect->redirect(f->url, &f->get.response.headers,
					       &f->error);

	if (!to) {
		try_again(f, SFS_RESPONSE_AGAIN, SFS_FETCH_PASSING);
	} else if (++f->n_redirects > MAX_REDIRECTS) {
		free(to);
		sfs_response_final(&f->error, -EIO, "more than %d redirects",
				   MAX_REDIRECTS);
		finish(f, -EIO);
	} else {
		free(f->url);
		f->url = to;
		begin(f, 0);
	}
}

/* Where nobody else says what to do. */
static void add_remedy(struct sfs_response_error *error)
{
	size_t n = strlen(error->why);
	const char *remedy = error->err == -ENOENT   ? ": check its name"
			     : error->err == -EACCES ? ": check the password, the token "
						       "or the signature"
						     : "";

	snprintf(error->why + n, sizeof error->why - n, "%s", remedy);
}

static void give_up_or_renew(struct file *f)
{
	const struct sfs_dialect *dialect = f->store->dialect;
	enum sfs_renewal renewal =
		dialect->renew(f->store, f->whole->fetch, &f->query, &f->get,
			       f->refused ? f->body.s : NULL);
	bool is_possible = renewal == SFS_RENEWAL_NOW
				   ? f->n_renewed++ <= f->whole->n_retries
				   : renewal == SFS_RENEWAL_SOON &&
					     sfs_clock_ns() < f->until_ns;

	if (is_possible) {
		begin_anew(f, renewal == SFS_RENEWAL_SOON ? RENEWAL_MS : 0);
		return;
	}
	if (!dialect->explain)
		add_remedy(&f->error);
	finish(f, f->error.err < 0 ? f->error.err : -EIO);
}

static int explain(struct file *f, int outcome)
{
	const struct sfs_dialect *dialect = f->store->dialect;

	if ((outcome != SFS_RESPONSE_AGAIN && outcome != SFS_RESPONSE_FINAL) ||
	    !dialect->explain || f->get.response.headers.status < 300)
		return outcome;
	return (int)dialect->explain(f->store, &f->query, &f->get,
				     f->refused && f->body.s ? f->body.s : "",
				     (enum sfs_response_outcome)outcome, &f->error);
}

static void on_end(struct sfs_get *get, int err, enum sfs_fetch_outcome outcome,
		   const char *why)
{
	struct file *f = file_of(get);

	sfs_stall_note_answer();
	if (f->refused && err != -ECANCELED)
		err = (int)f->refused;
	err = explain(f, err);
	if (err == 0 || err == -EFBIG || err == -ECANCELED) {
		finish(f, err);
	} else if (err == SFS_RESPONSE_REDIRECT) {
		follow_redirect(f);
	} else if (err == SFS_RESPONSE_FINAL) {
		give_up_or_renew(f);
	} else if (err == SFS_RESPONSE_AGAIN) {
		try_again(f, err, outcome);
	} else {
		sfs_response_again(&f->error, "%s", why);
		if (outcome == SFS_FETCH_FINAL)
			finish(f, err);
		else
			try_again(f, err, outcome);
	}
}

/* ---- the beginning of a GET ---- */

static void on_set_url(struct sfs_get *get)
{
	struct file *f = file_of(get);
	sfs_autofree char *own = f->store->dialect->url(f->store, &f->object);

	if (!f->url)
		f->url = sfs_strdup(own);
	get->url = f->url;
	get->is_foreign = f->object.uri.is_foreign;
	get->is_elsewhere = f->n_redirects > 0 && !sfs_url_same_origin(f->url, own);
}

static void on_start(struct sfs_get *get)
{
	static const struct sfs_claim whole = {.size = SFS_SIZE_UNKNOWN};
	struct file *f = file_of(get);

	f->refused = 0;
	f->error.err = 0;
	sfs_strbuf_done(&f->body);
	sfs_strbuf_done(&f->lines);
	f->query = (struct sfs_http_query){.object = &f->object,
					   .is_ask = true,
					   .claim = &whole, /* so no range is sent */
					   .last = f->most};
	f->store->dialect->request(f->store, &f->query, f->url, &f->lines, get);
}

static void begin(struct file *f, uint64_t delay_ms)
{
	sfs_http_headers_done(&f->get.response.headers);
	f->get = (struct sfs_get){
		.is_small = true,
		.is_urgent = true,
		.is_probe = true,
		.is_cancelled = &f->is_cancelled,
		.is_needed = &f->is_needed,
		.latest_ns = f->until_ns == UINT64_MAX ? 0 : f->until_ns,
		.set_url = on_set_url,
		.start = on_start,
		.head = on_head,
		.body = on_body,
		.room = on_room,
		.received = on_received,
		.end = on_end,
	};
	sfs_fetch_add(f->whole->fetch, &f->get, delay_ms);
}

/* ---- for the caller ---- */

static void copy_uri(const struct sfs_uri *uri, struct sfs_uri *ret)
{
	*ret = (struct sfs_uri){
		.scheme = uri->scheme,
		.location = sfs_strdup(uri->location),
		.user = uri->user ? sfs_strdup(uri->user) : NULL,
		.origin = uri->origin ? sfs_strdup(uri->origin) : NULL,
		.path = uri->path ? sfs_strdup(uri->path) : NULL,
		.is_foreign = uri->is_foreign,
	};
}

static void file_free(struct file *f)
{
	sfs_http_headers_done(&f->get.response.headers);
	sfs_object_done(&f->object);
	sfs_strbuf_done(&f->lines);
	sfs_strbuf_done(&f->body);
	free(f->url);
	free(f);
}

int sfs_whole_get(struct sfs_whole *w, struct sfs_store *store, const struct sfs_uri *uri,
		  size_t most, struct sfs_strbuf *ret, struct sfs_error *err)
{
	struct file *f = sfs_calloc(1, sizeof *f);
	struct sfs_uri copy;
	int code;

	copy_uri(uri, &copy);
	sfs_object_init(&f->object, &copy, NULL);
	f->whole = w;
	f->store = store ? store : &w->plain;
	f->most = most;
	f->rng.state = sfs_clock_ns();
	f->until_ns = sfs_stall_deadline(sfs_clock_ns());
	begin(f, 0);
	pthread_mutex_lock(&w->lock);
	while (!f->is_over)
		sfs_cond_wait_until(&w->ended, &w->lock, UINT64_MAX);
	pthread_mutex_unlock(&w->lock);
	code = f->err;
	if (code < 0)
		sfs_error_set(err, code, "%s", f->error.why);
	else
		sfs_strbuf_add(ret, f->body.s ? f->body.s : "", f->body.n);
	file_free(f);
	return code;
}

static void on_path_changed(void *ctx, const struct sfs_netpath *path)
{
}

struct sfs_whole *sfs_whole_start(const struct sfs_http_options *options,
				  struct sfs_error *err)
{
	struct sfs_fetch_options fetch_options = sfs_http_fetch_options(options);
	struct sfs_whole *w = sfs_calloc(1, sizeof *w);

	fetch_options.path_changed = on_path_changed;
	w->plain.dialect = &sfs_dialect_plain;
	w->n_retries = options->n_retries;
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->ended, NULL);
	w->fetch = sfs_fetch_start(&fetch_options, err);
	if (w->fetch)
		return w;
	sfs_whole_stop(w);
	return NULL;
}

void sfs_whole_stop(struct sfs_whole *w)
{
	if (!w)
		return;
	if (w->fetch) {
		sfs_fetch_stop(w->fetch);
		sfs_fetch_free(w->fetch);
	}
	pthread_mutex_destroy(&w->lock);
	pthread_cond_destroy(&w->ended);
	free(w);
}
