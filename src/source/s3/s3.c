/* SPDX-License-Identifier: MIT */
/* How this works: the fetch thread has GETs written and judged here (struct sfs_dialect);
 * one other thread lists buckets, page by page.  Both learn of regions and of the
 * server's clock from refusals: what was learned changes how the next request is made, so
 * the refused one is sent again. */
#include "source/s3/s3.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/list.h"
#include "base/log.h"
#include "base/stall.h"
#include "source/http/key-url.h"
#include "source/http/keys.h"
#include "source/http/server-clock.h"
#include "source/key-pattern.h"
#include "source/s3/s3-page.h"
#include "source/s3/s3-refusal.h"
#include "source/s3/sigv4.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* Where a bucket is, as its server says. */
struct bucket {
	struct sfs_link link;
	char *name, *region;
	uint64_t learned_ns;
};

struct sfs_s3 {
	struct sfs_store store; /* first */
	const struct sfs_s3_kind *kind;
	struct sfs_s3_service service;
	char *region;
	bool is_anonymous, requester_pays;
	char *user_project;
	struct sfs_http_options http;	/* its strings are the caller's */
	struct sfs_keys *keys;		/* NULL: anonymous */
	struct sfs_curl_caller *caller; /* of the thread that lists */
	struct sfs_server_clock clock;

	pthread_mutex_t lock; /* guards all below */
	struct sfs_link buckets;
	struct sfs_sigv4_key key;
};

/* What one request was made of, for its refusal. */
struct asked {
	char *bucket, *url, *region; /* the bucket's URL */
	const char *key;	     /* NULL: a listing */
};

/* ---- buckets ---- */

/* Locked. */
static struct bucket *find_bucket(struct sfs_s3 *s3, const char *name)
{
	SFS_EACH (bucket, &s3->buckets, struct bucket, link) {
		if (strcmp(bucket->name, name) == 0)
			return bucket;
	}
	return NULL;
}

/* The caller frees it. */
static char *region_of(struct sfs_s3 *s3, const char *name)
{
	struct bucket *bucket;
	char *region;

	pthread_mutex_lock(&s3->lock);
	bucket = find_bucket(s3, name);
	region = sfs_strdup(bucket ? bucket->region : s3->region);
	pthread_mutex_unlock(&s3->lock);
	return region;
}

/* Locked. */
static void keep_region(struct sfs_s3 *s3, const char *name, const char *region)
{
	struct bucket *bucket = find_bucket(s3, name);

	if (!bucket) {
		bucket = sfs_calloc(1, sizeof *bucket);
		bucket->name = sfs_strdup(name);
		sfs_list_push(&s3->buckets, &bucket->link);
	}
	free(bucket->region);
	bucket->region = sfs_strdup(region);
	bucket->learned_ns = sfs_clock_ns();
}

/* The server names the bucket's region.  Is it another than that of a request that was
 * signed at `signed_ns`? */
static bool learn_region(struct sfs_s3 *s3, const char *name, const char *region,
			 uint64_t signed_ns)
{
	struct bucket *bucket;
	bool is_new = false, is_other;

	if (!region[0])
		return false;
	pthread_mutex_lock(&s3->lock);
	bucket = find_bucket(s3, name);
	if (strcmp(bucket ? bucket->region : s3->region, region) != 0) {
		keep_region(s3, name, region);
		is_new = is_other = true;
	} else {
		is_other = bucket && bucket->learned_ns > signed_ns;
	}
	pthread_mutex_unlock(&s3->lock);
	if (is_new)
		sfs_info("the bucket '%s' is in the region %s: region=%s saves a request",
			 name, region, region);
	return is_other;
}

/* ---- signing ---- */

static void add_line(struct sfs_strbuf *lines, const char *name, const char *value)
{
	sfs_strbuf_printf(lines, "%s: %s\r\n", name, value);
}

/* Add the header lines of a GET of `url`, whose query is sorted and encoded as it is
 * signed.  Returns the edition of the credentials. */
static unsigned sign(struct sfs_s3 *s3, const char *url, const char *region,
		     struct sfs_strbuf *lines)
{
	struct sfs_credentials c = {0};
	struct sfs_sigv4_header headers[5];
	sfs_autofree char *host = NULL, *path = NULL, *value = NULL;
	struct sfs_sigv4_request r = {.method = "GET",
				      .headers = headers,
				      .payload_hash = SFS_SIGV4_EMPTY,
				      .region = region,
				      .service = "s3"};
	unsigned edition = s3->keys ? sfs_keys_get(s3->keys, &c) : 0;
	const char *target;
	char now[24];
	int i;

	if (s3->requester_pays)
		add_line(lines, "x-amz-request-payer", "requester");
	if (c.token && !c.key_id)
		sfs_strbuf_printf(lines, "Authorization: Bearer %s\r\n", c.token);
	if (!c.key_id) {
		sfs_credentials_done(&c);
		return edition;
	}
	host = sfs_s3_host(url, &target);
	path = sfs_strndup(target, strcspn(target, "?"));
	r.path = path;
	r.query = target[strlen(path)] == '?' ? target + strlen(path) + 1 : "";
	r.time = sfs_sigv4_time(sfs_server_clock_now_s(&s3->clock), now);
	r.key_id = c.key_id;
	r.secret = c.secret;
	headers[r.n_headers++] = (struct sfs_sigv4_header){"host", host};
	headers[r.n_headers++] =
		(struct sfs_sigv4_header){"x-amz-content-sha256", SFS_SIGV4_EMPTY};
	headers[r.n_headers++] = (struct sfs_sigv4_header){"x-amz-date", r.time};
	if (s3->requester_pays)
		headers[r.n_headers++] =
			(struct sfs_sigv4_header){"x-amz-request-payer", "requester"};
	if (c.token)
		headers[r.n_headers++] =
			(struct sfs_sigv4_header){"x-amz-security-token", c.token};
	for (i = 1; i < r.n_headers; i++)
		if (strcmp(headers[i].name, "x-amz-request-payer") != 0)
			add_line(lines, headers[i].name, headers[i].value);
	pthread_mutex_lock(&s3->lock);
	value = sfs_sigv4_sign(&r, &s3->key);
	pthread_mutex_unlock(&s3->lock);
	add_line(lines, "Authorization", value);
	sfs_credentials_done(&c);
	return edition;
}

/* ---- refusals ---- */

static void asked_done(struct asked *a)
{
	free(a->bucket);
	free(a->region);
	free(a->url);
}

static struct asked ask_for(struct sfs_s3 *s3, char *bucket, const char *key)
{
	struct asked a = {.bucket = bucket, .region = region_of(s3, bucket), .key = key};

	a.url = sfs_s3_url_of_bucket(&s3->service, bucket, a.region);
	return a;
}

static void describe(struct sfs_s3 *s3, const struct asked *a,
		     const struct sfs_s3_refusal *refusal, char *why, size_t size)
{
	struct sfs_credentials c = {0};
	struct sfs_s3_asked asked = {
		.words = s3->kind->words,
		.bucket = a->bucket,
		.key = a->key,
		.url = a->url,
		.region = a->region,
		.is_anonymous = s3->is_anonymous,
		.now_s = (int64_t)time(NULL),
	};

	if (s3->keys)
		sfs_keys_get(s3->keys, &c);
	asked.credentials = sfs_credentials_exist(&c) ? c.from : NULL;
	asked.is_temporary = c.key_id && c.token;
	sfs_s3_refusal_describe(refusal, &asked, why, size);
	sfs_credentials_done(&c);
}

static bool has_keys(struct sfs_s3 *s3)
{
	struct sfs_credentials c = {0};
	bool has;

	if (s3->keys)
		sfs_keys_get(s3->keys, &c);
	has = sfs_credentials_exist(&c);
	sfs_credentials_done(&c);
	return has;
}

/* Was something learned, so that the request is made anew?  It was signed at `signed_ns`,
 * with the credentials of `edition`. */
static enum sfs_renewal learn_from(struct sfs_s3 *s3, const struct asked *a,
				   const struct sfs_s3_refusal *refusal, unsigned edition,
				   uint64_t signed_ns, bool may_wait)
{
	switch (refusal->reason) {
	case SFS_S3_WRONG_REGION:
		return learn_region(s3, a->bucket, refusal->region, signed_ns)
			       ? SFS_RENEWAL_NOW
			       : SFS_RENEWAL_NO;
	case SFS_S3_CLOCK:
		return sfs_server_clock_learn(&s3->clock, refusal->date_s, signed_ns,
					      s3->kind->name)
			       ? SFS_RENEWAL_NOW
			       : SFS_RENEWAL_NO;
	case SFS_S3_DENIED: /* if it says so, the credentials are good */
		if (refusal->code[0] && has_keys(s3))
			return SFS_RENEWAL_NO;
		break;
	case SFS_S3_EXPIRED:
	case SFS_S3_NO_ACCESS_KEY:
	case SFS_S3_WRONG_SECRET: break;
	default: return SFS_RENEWAL_NO;
	}
	return s3->keys ? sfs_keys_renew(s3->keys, edition, signed_ns, may_wait)
			: SFS_RENEWAL_NO;
}

/* ---- the dialect ---- */

static struct sfs_s3 *s3_of(struct sfs_store *store)
{
	return sfs_container(store, struct sfs_s3, store);
}

static struct asked ask_for_object(struct sfs_s3 *s3, const struct sfs_object *o)
{
	const char *key;
	char *bucket = sfs_key_split(o->uri.location, &key);

	return ask_for(s3, bucket, key);
}

/* The project that pays.  Its name comes last, as it is signed. */
static void add_payer(const struct sfs_s3 *s3, struct sfs_strbuf *url)
{
	if (s3->user_project)
		sfs_key_add_parameter(url, "userProject", s3->user_project);
}

static char *own_url(struct sfs_store *store, const struct sfs_object *o)
{
	struct asked a = ask_for_object(s3_of(store), o);
	struct sfs_strbuf url = {0};

	sfs_strbuf_puts(&url, a.url);
	sfs_key_encode(&url, a.key, true);
	add_payer(s3_of(store), &url);
	asked_done(&a);
	return url.s;
}

static void request(struct sfs_store *store, struct sfs_http_query *q, const char *url,
		    struct sfs_strbuf *lines, struct sfs_get *get)
{
	const struct sfs_object *o = q->object;
	struct asked a = ask_for_object(s3_of(store), o);

	q->if_match = NULL;
	if (o->tag && !s3_of(store)->kind->has_generations && !q->is_ask &&
	    !q->verify_size_only && sfs_http_etag_can_be_sent(o->tag))
		q->if_match = o->tag;
	get->url = url;
	get->user = NULL;
	get->has_user_headers = false;
	get->is_signed_url = true;
	get->if_match = q->if_match;
	get->first = q->first;
	get->last = q->last;
	get->is_whole = q->claim != NULL;
	get->signed_ns = sfs_clock_ns();
	/* A redirect leads to another server, perhaps not one of S3. */
	if (strncmp(url, a.url, strlen(a.url)) == 0)
		get->keys_edition = sign(s3_of(store), url, a.region, lines);
	get->lines = lines->s;
	asked_done(&a);
}

/* The headers, with a tag that is made of the generation, if the service has those. */
static struct sfs_http_headers tagged(struct sfs_store *store,
				      const struct sfs_http_headers *a)
{
	struct sfs_http_headers headers = *a;

	if (s3_of(store)->kind->has_generations && a->generation[0])
		snprintf(headers.etag, sizeof headers.etag, SFS_S3_GENERATION_TAG,
			 a->generation);
	return headers;
}

/* A redirect without a Location says that the bucket is in another region. */
static enum sfs_response_outcome judge(struct sfs_store *store,
				       const struct sfs_http_query *q,
				       const struct sfs_http_headers *a,
				       struct sfs_response_error *error)
{
	const struct sfs_http_headers headers = tagged(store, a);
	enum sfs_response_outcome outcome =
		sfs_response_judge_listed(q, &headers, error);

	if (outcome == SFS_RESPONSE_REDIRECT && !a->location)
		return (enum sfs_response_outcome)sfs_response_final(error, -EIO,
								     "HTTP %d",
								     a->status);
	return outcome;
}

static enum sfs_response_outcome s3_explain(struct sfs_store *store,
					    const struct sfs_http_query *q,
					    const struct sfs_get *get, const char *body,
					    enum sfs_response_outcome outcome,
					    struct sfs_response_error *error)
{
	struct sfs_s3_refusal refusal;
	struct asked a;

	if (error->err == -ESTALE)
		return outcome;
	sfs_s3_refusal_read(&get->response.headers, body, strlen(body), &refusal);
	if (refusal.status == 416 || refusal.status == 412)
		return outcome;
	a = ask_for_object(s3_of(store), q->object);
	describe(s3_of(store), &a, &refusal, error->why, sizeof error->why);
	error->err = sfs_s3_refusal_err(&refusal);
	asked_done(&a);
	return refusal.reason == SFS_S3_OTHER
		       ? outcome
		       : sfs_response_told(refusal.reason == SFS_S3_LATER, refusal.status,
					   outcome);
}

/* The listing said it. */
static void learn(struct sfs_store *store, struct sfs_object *o,
		  const struct sfs_http_headers *a)
{
	const struct sfs_http_headers headers = tagged(store, a);

	if (o->size == SFS_SIZE_UNKNOWN)
		sfs_response_learn(o, &headers);
}

static enum sfs_renewal renew(struct sfs_store *store, struct sfs_fetch *fetch,
			      const struct sfs_http_query *q, const struct sfs_get *get,
			      const char *body)
{
	struct sfs_s3_refusal refusal;
	enum sfs_renewal renewal;
	struct asked a;

	if (get->response.headers.status < 300)
		return SFS_RENEWAL_NO;
	a = ask_for_object(s3_of(store), q->object);
	sfs_s3_refusal_read(&get->response.headers, body, body ? strlen(body) : 0,
			    &refusal);
	renewal = learn_from(s3_of(store), &a, &refusal, get->keys_edition,
			     get->signed_ns, false);
	asked_done(&a);
	return renewal;
}

/* ---- listing ---- */

/* The URL of a page; its parameters are sorted, as they are signed. */
static char *url_of_page(const struct sfs_s3 *s3, const struct asked *a,
			 const char *pattern, const char *token)
{
	sfs_autofree char *prefix = sfs_key_pattern_prefix(pattern);
	struct sfs_strbuf url = {0};

	sfs_strbuf_puts(&url, a->url);
	if (token)
		sfs_key_add_parameter(&url, "continuation-token", token);
	if (!sfs_key_pattern_is_deep(pattern))
		sfs_key_add_parameter(&url, "delimiter", "/");
	if (s3->kind->encodes_keys)
		sfs_key_add_parameter(&url, "encoding-type", "url");
	sfs_key_add_parameter(&url, "list-type", "2");
	sfs_key_add_parameter(&url, "prefix", prefix);
	add_payer(s3, &url);
	return url.s;
}

/* The response has come: 0, or what is wrong.  *ret_again: it may be asked again. */
static int take_page(struct sfs_s3 *s3, const struct asked *a,
		     const struct sfs_curl_answer *answer, unsigned edition,
		     uint64_t signed_ns, struct sfs_listing *ret,
		     enum sfs_renewal *ret_again, struct sfs_error *err)
{
	const char *body = answer->body.s ? answer->body.s : "";
	struct sfs_s3_refusal refusal;
	char why[768];
	int code;

	if (answer->headers.status == 200) {
		code = sfs_s3_page_read(body, answer->body.n, s3->kind->has_generations,
					ret, err);
		if (code < 0)
			*ret_again = SFS_RENEWAL_SOON;
		return code == 0 ? 0
				 : sfs_error_wrap(err, code, "the answer is not a listing of %s's",
						  s3->kind->name);
	}
	sfs_s3_refusal_read(&answer->headers, body, strlen(body), &refusal);
	describe(s3, a, &refusal, why, sizeof why);
	*ret_again = learn_from(s3, a, &refusal, edition, signed_ns, true);
	if (refusal.reason == SFS_S3_LATER || sfs_response_is_later(refusal.status) ||
	    (refusal.reason == SFS_S3_OTHER && !refusal.code[0]))
		*ret_again = SFS_RENEWAL_SOON;
	return sfs_error_set(err, sfs_s3_refusal_err(&refusal), "%s", why);
}

static int get_page(void *ctx, const struct sfs_listing_ask *ask, struct sfs_listing *ret,
		    enum sfs_renewal *ret_again, struct sfs_error *err)
{
	struct sfs_s3 *s3 = ctx;
	struct asked a = ask_for(s3, sfs_strdup(ask->bucket), NULL);
	sfs_autofree char *url = url_of_page(s3, &a, ask->pattern, ask->token);
	struct sfs_curl_call call = {.method = "GET", .url = url};
	struct sfs_curl_answer answer;
	struct sfs_strbuf lines = {0};
	uint64_t signed_ns = sfs_clock_ns();
	unsigned edition = sign(s3, url, a.region, &lines);
	int code;

	call.lines = lines.s;
	code = sfs_listing_call(s3->caller, &call, &answer, ret_again, err);
	if (code == 0)
		code = take_page(s3, &a, &answer, edition, signed_ns, ret, ret_again,
				 err);
	sfs_curl_answer_done(&answer);
	sfs_strbuf_done(&lines);
	asked_done(&a);
	return code;
}

static int list(struct sfs_store *store, const struct sfs_uri *uri,
		struct sfs_listing *ret, struct sfs_error *err)
{
	struct sfs_s3 *s3 = s3_of(store);

	return sfs_listing_read(uri, s3->http.n_retries, get_page, s3, ret, err);
}

/* ---- life ---- */

static int set_service(struct sfs_s3 *s3, const struct sfs_s3_options *o,
		       struct sfs_error *err)
{
	sfs_autofree char *region = NULL, *endpoint = NULL;
	int ret;

	ret = s3->kind->settings(&region, &endpoint, err);
	if (ret < 0)
		return ret;
	if (o->region && s3->kind->has_regions)
		s3->region = sfs_strdup(o->region);
	else
		s3->region = sfs_strdup(region ? region : s3->kind->region);
	if (s3->region[strspn(s3->region, "abcdefghijklmnopqrstuvwxyz0123456789-")])
		return sfs_error_set(err, -EINVAL, "'%s' is not a region: write one like us-east-1",
				     s3->region);
	s3->service.style = o->style;
	if (!o->endpoint && !endpoint)
		return 0;
	return sfs_s3_service_set(&s3->service, o->endpoint ? o->endpoint : endpoint,
				  err);
}

static void stop(struct sfs_store *store)
{
	struct sfs_s3 *s3 = s3_of(store);
	struct sfs_link *link;
	struct bucket *bucket;

	sfs_keys_stop(s3->keys);
	sfs_curl_caller_free(s3->caller);
	while ((link = sfs_list_pop(&s3->buckets)) != NULL) {
		bucket = sfs_container(link, struct bucket, link);
		free(bucket->name);
		free(bucket->region);
		free(bucket);
	}
	sfs_sigv4_key_done(&s3->key);
	sfs_s3_service_done(&s3->service);
	sfs_server_clock_done(&s3->clock);
	pthread_mutex_destroy(&s3->lock);
	free(s3->region);
	free(s3->user_project);
	free(s3);
}

struct sfs_store *sfs_s3_start(const struct sfs_s3_options *o, struct sfs_error *err)
{
	static const struct sfs_dialect dialect = {
		.url = own_url,
		.request = request,
		.judge = judge,
		.explain = s3_explain,
		.learn = learn,
		.redirect = sfs_http_redirect,
		.renew = renew,
	};
	struct sfs_s3 *s3 = sfs_calloc(1, sizeof *s3);
	const struct sfs_keys_options keys = {.name = o->kind->name,
					      .takes_bearer = o->kind->takes_bearer,
					      .find = o->kind->find,
					      .http = &s3->http};

	s3->kind = o->kind;
	s3->store.scheme = o->kind->scheme;
	s3->store.dialect = &dialect;
	s3->store.list = list;
	s3->store.stop = stop;
	s3->is_anonymous = o->is_anonymous;
	s3->requester_pays = o->requester_pays;
	s3->user_project = o->user_project ? sfs_strdup(o->user_project) : NULL;
	s3->http = *o->http;
	pthread_mutex_init(&s3->lock, NULL);
	sfs_server_clock_init(&s3->clock);
	sfs_list_init(&s3->buckets);
	if (set_service(s3, o, err) == 0)
		s3->caller = sfs_curl_caller_new(&s3->http, NULL, err);
	if (s3->caller && !o->is_anonymous)
		s3->keys = sfs_keys_start(&keys, err);
	if (s3->caller && (s3->keys || o->is_anonymous))
		return &s3->store;
	stop(&s3->store);
	return NULL;
}
