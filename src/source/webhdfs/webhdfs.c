/* SPDX-License-Identifier: MIT */
/* How this works: before the source starts, a thread comes here with each URL (list()),
 * and folders are listed.  Later the fetch thread has GETs written and judged.  So there
 * is no lock.
 *
 * Invariant: bytes that are handed on are of the version that was listed, or asked for.
 * A datanode opens the file anew for each range and takes what is there; so the namenode
 * is asked for the file's status once they have come.  If that is the same as before,
 * nothing was replaced in between: no two files ever have one number. */
#include "source/webhdfs/webhdfs.h"

#include "base/alloc.h"
#include "source/http/curl-call.h"
#include "source/http/key-url.h"
#include "source/http/listing.h"
#include "source/webhdfs/webhdfs-page.h"
#include "source/webhdfs/webhdfs-refusal.h"
#include "source/webhdfs/webhdfs-token.h"
#include "source/webhdfs/webhdfs-url.h"
#include "source/webhdfs/webhdfs-walk.h"

#include <errno.h>
#include <pwd.h>
#include <string.h>
#include <unistd.h>

#define OWN 1 /* the keys_edition of a GET to a namenode */

struct sfs_webhdfs {
	struct sfs_store store; /* first */
	char **endpoints;	/* n of them; 0: URLs say it */
	int n_endpoints, current;
	char *user;	 /* of URLs that name none; NULL: it has no name */
	bool negotiates; /* a namenode wanted it */
	struct sfs_webhdfs_token *token;
	struct sfs_http_options http;	/* its strings are the caller's */
	struct sfs_curl_caller *caller; /* of the thread that lists */
};

static struct sfs_webhdfs *webhdfs_of(struct sfs_store *store)
{
	return sfs_container(store, struct sfs_webhdfs, store);
}

/* ---- URLs ---- */

/* NULL: neither the URL nor endpoint= names a namenode. */
static char *endpoint_of(const struct sfs_webhdfs *w, const char *location)
{
	return w->n_endpoints > 0 ? sfs_strdup(w->endpoints[w->current])
				  : sfs_webhdfs_endpoint(location);
}

/* The name that is sent: a token or a ticket has its own. */
static const char *user_of(const struct sfs_webhdfs *w, const struct sfs_uri *uri)
{
	if (w->negotiates || sfs_webhdfs_token_from(w->token))
		return NULL;
	return uri->user && *uri->user && !strchr(uri->user, ':') ? uri->user : w->user;
}

/* The own URL of a path of the namenode that `uri` names. */
static char *url_of(const struct sfs_webhdfs *w, const struct sfs_uri *uri,
		    const char *path)
{
	sfs_autofree char *endpoint = endpoint_of(w, uri->location);
	const char *token = sfs_webhdfs_token_get(w->token);

	return sfs_webhdfs_url(endpoint ? endpoint : "http://", path, user_of(w, uri),
			       token);
}

static char *own_url(struct sfs_store *store, const struct sfs_object *o)
{
	sfs_autofree char *host = NULL;
	const char *path;

	host = sfs_key_split(o->uri.location, &path);
	return url_of(webhdfs_of(store), &o->uri, path);
}

static void describe(const struct sfs_webhdfs *w, const struct sfs_uri *uri,
		     const char *path, const struct sfs_webhdfs_refusal *refusal,
		     char *why, size_t size)
{
	const struct sfs_webhdfs_asked asked = {
		.path = path,
		.user = user_of(w, uri),
		.token_from = sfs_webhdfs_token_from(w->token),
		.has_more = w->n_endpoints > 1,
		.can_negotiate = sfs_curl_can_negotiate(),
		.has_negotiated = w->negotiates,
	};

	sfs_webhdfs_refusal_describe(refusal, &asked, why, size);
}

/* ---- namenodes and credentials ---- */

/* The namenode of this URL is of no use now: is there another? */
static void avoid(struct sfs_store *store, const char *url)
{
	struct sfs_webhdfs *w = webhdfs_of(store);
	const char *endpoint = w->n_endpoints > 0 ? w->endpoints[w->current] : "";
	size_t n = strlen(endpoint);

	if (w->n_endpoints > 1 && sfs_webhdfs_url_is_own(url) &&
	    strncmp(url, endpoint, n) == 0 && url[n] == '/')
		w->current = (w->current + 1) % w->n_endpoints;
}

/* An own URL was refused.  Are there credentials to try that it does not have? */
static bool has_others(struct sfs_webhdfs *w, const char *url, bool has_negotiated,
		       int status)
{
	const char *token = sfs_webhdfs_token_get(w->token);

	if ((status != 401 && status != 403) || has_negotiated)
		return false;
	if (token) {
		sfs_webhdfs_token_renew(w->token);
		token = sfs_webhdfs_token_get(w->token);
		return token && !strstr(url, token);
	}
	w->negotiates |= status == 401 && sfs_curl_can_negotiate();
	return w->negotiates;
}

static enum sfs_renewal renew(struct sfs_store *store, struct sfs_fetch *fetch,
			      const struct sfs_http_query *q, const struct sfs_get *get,
			      const char *refusal)
{
	return get->keys_edition == OWN &&
			       has_others(webhdfs_of(store), get->url, get->negotiates,
					  get->response.headers.status)
		       ? SFS_RENEWAL_NOW
		       : SFS_RENEWAL_NO;
}

/* ---- the dialect ---- */

static void request(struct sfs_store *store, struct sfs_http_query *q, const char *url,
		    struct sfs_strbuf *lines, struct sfs_get *get)
{
	bool is_own = sfs_webhdfs_url_is_own(url);

	q->if_match = NULL;
	if (q->is_status)
		sfs_strbuf_printf(lines, "%sop=GETFILESTATUS", url);
	else
		sfs_webhdfs_add_read(lines, url, q->first, q->last - q->first + 1);
	get->url = lines->s;
	get->lines = NULL;
	get->user = NULL;
	get->has_user_headers = false;
	get->negotiates = webhdfs_of(store)->negotiates && is_own;
	get->keys_edition = is_own ? OWN : 0;
	get->is_signed_url = true;
	get->if_match = NULL;
	get->first = q->first;
	get->last = q->last;
	get->is_whole = true;
}

/* 200 to a read: a Content-Length is that of the part. */
static enum sfs_response_outcome judge_part(const struct sfs_http_query *q,
					    const struct sfs_http_headers *a,
					    struct sfs_response_error *error)
{
	uint64_t n = q->last - q->first + 1;

	if (a->is_page)
		return (enum sfs_response_outcome)sfs_response_doubt(
			error, -EOPNOTSUPP,
			"a web page (HTTP 200, text/html) instead of WebHDFS: check the "
			"port, which is that of a namenode's HTTP (9870; 9871 with TLS)");
	if (a->is_ambiguous || a->encoding[0])
		return (enum sfs_response_outcome)sfs_response_again(
			error, "HTTP 200 with two lengths or an encoding");
	if (a->length == SFS_HTTP_UNKNOWN || a->length == n ||
	    (q->is_ask && a->length < n))
		return SFS_RESPONSE_BYTES;
	if (a->length < n)
		return (enum sfs_response_outcome)
			sfs_response_final(error, -ESTALE,
					   "the file changed since the mount began: it "
					   "ends before byte %llu",
					   (unsigned long long)q->last);
	return (enum sfs_response_outcome)
		sfs_response_again(error, "asked for %llu bytes, got %llu",
				   (unsigned long long)n, (unsigned long long)a->length);
}

static enum sfs_response_outcome judge(struct sfs_store *store,
				       const struct sfs_http_query *q,
				       const struct sfs_http_headers *a,
				       struct sfs_response_error *error)
{
	if (a->status != 200)
		return sfs_response_judge(q, a, error);
	return q->is_status ? SFS_RESPONSE_IN_BODY : judge_part(q, a, error);
}

static enum sfs_response_outcome explain(struct sfs_store *store,
					 const struct sfs_http_query *q,
					 const struct sfs_get *get, const char *body,
					 enum sfs_response_outcome outcome,
					 struct sfs_response_error *error)
{
	struct sfs_webhdfs_refusal refusal;
	sfs_autofree char *host = NULL;
	const char *path;

	sfs_webhdfs_refusal_read(get->response.headers.status, body, strlen(body),
				 &refusal);
	if (sfs_webhdfs_refusal_is_of_range(&refusal) && !q->is_ask)
		return (enum sfs_response_outcome)sfs_response_final(
			error, -ESTALE,
			"the file changed since the mount began: it has no byte %llu",
			(unsigned long long)q->first);
	host = sfs_key_split(q->object->uri.location, &path);
	describe(webhdfs_of(store), &q->object->uri, path, &refusal, error->why,
		 sizeof error->why);
	error->err = sfs_webhdfs_refusal_err(&refusal);
	if (!sfs_webhdfs_refusal_is_later(&refusal))
		return outcome;
	error->err = 0;
	error->is_later = true;
	return SFS_RESPONSE_AGAIN;
}

/* Write the headers that HTTP would have. */
static void write_headers(const struct sfs_http_query *q,
			  const struct sfs_webhdfs_status *s, struct sfs_http_headers *a)
{
	time_t mtime_s = (time_t)(s->mtime_ms / 1000);
	struct tm tm;

	a->status = q->claim ? 200 : 206;
	a->has_range = true;
	a->first = q->first;
	a->last = q->last;
	a->length = q->claim ? s->length : q->last - q->first + 1;
	a->total = s->length;
	a->is_ambiguous = a->is_multipart = a->is_page = false;
	_Static_assert(sizeof a->etag >= SFS_WEBHDFS_TAG_BYTES, "a tag fits");
	sfs_webhdfs_tag(s, a->etag);
	if (gmtime_r(&mtime_s, &tm))
		strftime(a->last_modified, sizeof a->last_modified,
			 "%a, %d %b %Y %H:%M:%S GMT", &tm);
}

/* A namenode knows: it is so. */
static enum sfs_response_outcome tell_changed(const struct sfs_http_query *q,
					      const struct sfs_http_headers *headers,
					      struct sfs_response_error *error)
{
	const struct sfs_object *o = q->object;

	if (!q->is_ask && headers->total == o->size)
		sfs_response_final(error, -ESTALE,
				   "the file was replaced or touched since the mount "
				   "began: its number, time and length were %s, are %s",
				   o->tag, headers->etag);
	return SFS_RESPONSE_FINAL;
}

static enum sfs_response_outcome read_status(struct sfs_store *store,
					     const struct sfs_http_query *q,
					     const char *body,
					     struct sfs_http_headers *headers,
					     struct sfs_response_error *error)
{
	struct sfs_webhdfs_status status;
	enum sfs_response_outcome outcome;
	struct sfs_error err = {0};

	if (sfs_webhdfs_status_read(body, strlen(body), &status, &err) < 0)
		return (enum sfs_response_outcome)sfs_response_doubt(
			error, -EIO,
			"no WebHDFS is there (%s): check the port, which is that of a "
			"namenode's HTTP (9870; 9871 with TLS)",
			err.text);
	if (!status.is_file)
		return (enum sfs_response_outcome)sfs_response_final(
			error, -EISDIR,
			"it is a folder; all *.tar below it are named by a '/' at its "
			"end");
	write_headers(q, &status, headers);
	outcome = sfs_response_judge_listed(q, headers, error);
	return error->err == -ESTALE && outcome == SFS_RESPONSE_AGAIN
		       ? tell_changed(q, headers, error)
		       : outcome;
}

/* The listing said it. */
static void learn(struct sfs_store *store, struct sfs_object *o,
		  const struct sfs_http_headers *headers)
{
	if (o->size == SFS_SIZE_UNKNOWN)
		sfs_response_learn(o, headers);
}

static char *redirect(const char *from, const struct sfs_http_headers *headers,
		      struct sfs_response_error *error)
{
	char *to = sfs_http_redirect(from, headers, error);

	if (to)
		sfs_webhdfs_drop_range(to);
	return to;
}

/* ---- listing ---- */

/* Of one URL. */
struct lister {
	struct sfs_webhdfs *w;
	const struct sfs_uri *uri;
	struct sfs_webhdfs_walk walk;
};

/* The response has come: 0, or what is wrong.  *ret_again: it may be asked again. */
static int take_page(struct lister *l, const char *url, bool has_negotiated,
		     const struct sfs_curl_answer *answer, struct sfs_listing *ret,
		     enum sfs_renewal *ret_again, struct sfs_error *err)
{
	const char *body = answer->body.s ? answer->body.s : "";
	int status = answer->headers.status, code;
	struct sfs_webhdfs_refusal refusal;
	struct sfs_webhdfs_page page;
	char why[768];

	if (status == 200) {
		code = sfs_webhdfs_page_read(body, answer->body.n, &page, err);
		if (code < 0)
			return sfs_error_wrap(err, code, "no WebHDFS is there");
		code = sfs_webhdfs_walk_take(&l->walk, &page, ret, err);
		sfs_webhdfs_page_done(&page);
		return code;
	}
	sfs_webhdfs_refusal_read(status, body, answer->body.n, &refusal);
	if (has_others(l->w, url, has_negotiated, status))
		*ret_again = SFS_RENEWAL_NOW;
	else if (sfs_webhdfs_refusal_is_later(&refusal) || sfs_response_is_later(status))
		*ret_again = SFS_RENEWAL_SOON;
	describe(l->w, l->uri, sfs_webhdfs_walk_folder(&l->walk), &refusal, why,
		 sizeof why);
	return sfs_error_set(err, sfs_webhdfs_refusal_err(&refusal), "%s", why);
}

static int get_page(void *ctx, const struct sfs_listing_ask *ask, struct sfs_listing *ret,
		    enum sfs_renewal *ret_again, struct sfs_error *err)
{
	struct lister *l = ctx;
	sfs_autofree char *own = url_of(l->w, l->uri, sfs_webhdfs_walk_folder(&l->walk));
	struct sfs_strbuf url = {0};
	struct sfs_curl_call call = {.method = "GET", .negotiates = l->w->negotiates};
	struct sfs_curl_answer answer;
	int code;

	sfs_strbuf_printf(&url, "%sop=LISTSTATUS_BATCH", own);
	if (l->walk.after) {
		sfs_strbuf_puts(&url, "&startAfter=");
		sfs_key_encode(&url, l->walk.after, false);
	}
	call.url = url.s;
	code = sfs_listing_call(l->w->caller, &call, &answer, ret_again, err);
	if (code < 0 && l->w->n_endpoints == 0 &&
	    strncmp(l->uri->location, "hdfs:", 5) == 0)
		sfs_error_wrap(
			err, code,
			"hdfs:// does not say the port of HTTP, so 9870 was tried; if "
			"it is another, set endpoint=");
	if (code == 0)
		code = take_page(l, own, call.negotiates, &answer, ret, ret_again, err);
	if (code < 0 && *ret_again == SFS_RENEWAL_SOON)
		avoid(&l->w->store, own);
	sfs_curl_answer_done(&answer);
	sfs_strbuf_done(&url);
	return code;
}

/* What is wrong with it, before anybody is asked? */
static int meet(struct sfs_store *store, const struct sfs_uri *uri, struct sfs_error *err)
{
	sfs_autofree char *endpoint = endpoint_of(webhdfs_of(store), uri->location);

	if (!endpoint)
		return sfs_error_set(err, -EINVAL,
				     "'%s' names no namenode: write "
				     "webhdfs://HOST:9870/..., or set endpoint=",
				     uri->location);
	if (uri->user && strchr(uri->user, ':'))
		return sfs_error_set(err, -EINVAL,
				     "%s: WebHDFS takes no password: write only the "
				     "name, as in webhdfs://NAME@HOST:9870/...",
				     uri->origin);
	return 0;
}

static int list(struct sfs_store *store, const struct sfs_uri *uri,
		struct sfs_listing *ret, struct sfs_error *err)
{
	struct lister l = {.w = webhdfs_of(store), .uri = uri};
	sfs_autofree char *host = NULL;
	const char *pattern;
	int code = meet(store, uri, err);

	if (code < 0)
		return code;
	host = sfs_key_split(uri->location, &pattern);
	sfs_webhdfs_walk_init(&l.walk, pattern);
	code = sfs_listing_read(uri, l.w->http.n_retries, get_page, &l, ret, err);
	sfs_webhdfs_walk_done(&l.walk);
	return code;
}

/* ---- life ---- */

static int add_endpoint(struct sfs_webhdfs *w, const char *text, size_t n,
			struct sfs_error *err)
{
	static const char suffix[] = "/webhdfs/v1";
	sfs_autofree char *one = sfs_strndup(text, n);
	char *endpoint = sfs_endpoint_read(one, err), *end;

	if (!endpoint)
		return -EINVAL;
	end = endpoint + strlen(endpoint);
	if (end - endpoint > (ptrdiff_t)strlen(suffix) &&
	    strcmp(end - strlen(suffix), suffix) == 0)
		end[-(ptrdiff_t)strlen(suffix)] = 0;
	w->endpoints = sfs_reallocarray(w->endpoints, (size_t)w->n_endpoints + 1,
					sizeof *w->endpoints);
	w->endpoints[w->n_endpoints++] = endpoint;
	return 0;
}

static int set_endpoints(struct sfs_webhdfs *w, const char *text, struct sfs_error *err)
{
	size_t n;
	int code = 0;

	for (; text && *text && code == 0; text += n + (text[n] != 0)) {
		n = strcspn(text, ";,");
		if (n > 0)
			code = add_endpoint(w, text, n, err);
	}
	return code;
}

static void set_user(struct sfs_webhdfs *w)
{
	const char *name = getenv("HADOOP_USER_NAME");
	struct passwd *user = name && *name ? NULL : getpwuid(geteuid());

	if (name && *name)
		w->user = sfs_strdup(name);
	else if (user)
		w->user = sfs_strdup(user->pw_name);
}

static void stop(struct sfs_store *store)
{
	struct sfs_webhdfs *w = webhdfs_of(store);

	sfs_curl_caller_free(w->caller);
	sfs_webhdfs_token_stop(w->token);
	while (w->n_endpoints > 0)
		free(w->endpoints[--w->n_endpoints]);
	free(w->endpoints);
	free(w->user);
	free(w);
}

struct sfs_store *sfs_webhdfs_start(const struct sfs_webhdfs_options *o,
				    struct sfs_error *err)
{
	static const struct sfs_dialect dialect = {
		.url = own_url,
		.request = request,
		.judge = judge,
		.explain = explain,
		.read_status = read_status,
		.learn = learn,
		.redirect = redirect,
		.renew = renew,
		.avoid = avoid,
	};
	struct sfs_webhdfs *w = sfs_calloc(1, sizeof *w);

	w->store = (struct sfs_store){.scheme = SFS_SCHEME_WEBHDFS,
				      .dialect = &dialect,
				      .meet = meet,
				      .list = list,
				      .stop = stop};
	w->http = *o->http;
	set_user(w);
	if (set_endpoints(w, o->endpoint, err) == 0)
		w->token = sfs_webhdfs_token_start(err);
	if (w->token)
		w->caller = sfs_curl_caller_new(&w->http, NULL, err);
	if (w->caller)
		return &w->store;
	stop(&w->store);
	return NULL;
}
