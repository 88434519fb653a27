/* SPDX-License-Identifier: MIT */
/* How this works: before the source starts, a thread comes here with each URL (list()):
 * it learns the account, if only URLs name it, and lists what is a pattern.  Later the
 * fetch thread has GETs written and judged. */
#include "source/azure/azure.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "source/azure/azure-account.h"
#include "source/azure/azure-credentials.h"
#include "source/azure/azure-page.h"
#include "source/azure/azure-refusal.h"
#include "source/azure/azure-sign.h"
#include "source/http/curl-call.h"
#include "source/http/key-url.h"
#include "source/http/listing.h"
#include "source/http/keys.h"
#include "source/http/server-clock.h"
#include "source/key-pattern.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* Tokens need 2017-11-09; from 2021-02-12 on, names in listings may be encoded. */
#define API_VERSION "2020-10-02"

struct sfs_azure {
	struct sfs_store store; /* first */
	struct sfs_azure_account account;
	bool is_anonymous;
	struct sfs_http_options http;	/* its strings are the caller's */
	struct sfs_keys *keys;	/* NULL: anonymous */
	struct sfs_curl_caller *caller; /* of the thread that lists */
	struct sfs_server_clock clock;
};

static struct sfs_azure *azure_of(struct sfs_store *store)
{
	return sfs_container(store, struct sfs_azure, store);
}

/* ---- URLs ---- */

/* A copy of the present credentials, and their edition. */
static unsigned get_keys(struct sfs_azure *azure, struct sfs_credentials *ret)
{
	*ret = (struct sfs_credentials){0};
	return azure->keys ? sfs_keys_get(azure->keys, ret) : 0;
}

/* The URL of a container, without its '/' or query.  `bucket` may name the host, too. */
static char *url_of(const struct sfs_azure *azure, const char *bucket)
{
	return sfs_asprintf("%s/%.*s", azure->account.url, (int)strcspn(bucket, "@"),
			    bucket);
}

static void add_sas(struct sfs_azure *azure, struct sfs_strbuf *url)
{
	struct sfs_credentials c;

	get_keys(azure, &c);
	if (c.query)
		sfs_strbuf_printf(url, "%s%s", strchr(url->s, '?') ? "&" : "?", c.query);
	sfs_credentials_done(&c);
}

static bool is_own(const struct sfs_azure *azure, const char *url)
{
	size_t n = strlen(azure->account.url);

	return strncmp(url, azure->account.url, n) == 0 && url[n] == '/';
}

/* ---- header lines ---- */

struct conditions {
	const char *if_match, *range; /* NULL: none */
};

/* Sign with the account's key. */
static void sign(struct sfs_azure *azure, const char *url, const struct conditions *on,
		 const char *key, struct sfs_strbuf *lines)
{
	const char *target = strstr(url, "://") + 3, *query;
	struct sfs_azure_request r = {.account = azure->account.name,
				      .if_match = on->if_match,
				      .range = on->range,
				      .version = API_VERSION};
	sfs_autofree char *path = NULL, *value = NULL;
	char now[32];

	target += strcspn(target, "/?");
	query = target + strcspn(target, "?");
	path = sfs_strndup(target, (size_t)(query - target));
	r.path = path;
	r.query = *query ? query + 1 : "";
	r.date = sfs_azure_time(sfs_server_clock_now_s(&azure->clock), now);
	value = sfs_azure_sign(&r, key);
	sfs_strbuf_printf(lines, "x-ms-date: %s\r\nAuthorization: %s\r\n", r.date, value);
}

/* Add the header lines of a GET of `url`, one of ours.  Returns the edition of the
 * credentials. */
static unsigned authorize(struct sfs_azure *azure, const char *url,
			  const struct conditions *on, struct sfs_strbuf *lines)
{
	struct sfs_credentials c;
	unsigned edition = get_keys(azure, &c);

	sfs_strbuf_puts(lines, "x-ms-version: " API_VERSION "\r\n");
	if (c.secret)
		sign(azure, url, on, c.secret, lines);
	else if (c.token)
		sfs_strbuf_printf(lines, "Authorization: Bearer %s\r\n", c.token);
	else if (c.query && !strstr(url, c.query))
		edition--; /* the URL was made with an earlier SAS */
	sfs_credentials_done(&c);
	return edition;
}

/* ---- refusals ---- */

static enum sfs_azure_by by_what(const struct sfs_credentials *c)
{
	return c->secret  ? SFS_AZURE_BY_KEY
	       : c->query ? SFS_AZURE_BY_SAS
	       : c->token ? SFS_AZURE_BY_TOKEN
			  : SFS_AZURE_BY_NOTHING;
}

/* `key` NULL: of a listing. */
static void describe(struct sfs_azure *azure, const char *bucket, const char *key,
		     const struct sfs_azure_refusal *refusal, char *why, size_t size)
{
	sfs_autofree char *container = sfs_strndup(bucket, strcspn(bucket, "@"));
	struct sfs_credentials c;
	struct sfs_azure_asked asked = {
		.container = container,
		.key = key,
		.url = azure->account.url,
		.account = azure->account.name,
		.is_anonymous = azure->is_anonymous,
		.now_s = (int64_t)time(NULL),
	};

	get_keys(azure, &c);
	asked.by = by_what(&c);
	asked.from = c.from;
	if (c.query) {
		asked.start_s = sfs_azure_sas_time(c.query, "st");
		asked.end_s = sfs_azure_sas_time(c.query, "se");
	}
	sfs_azure_refusal_describe(refusal, &asked, why, size);
	sfs_credentials_done(&c);
}

/* Was something learned, so that the request is made anew?  It was signed at `signed_ns`,
 * with the credentials of `edition`. */
static enum sfs_renewal learn_from(struct sfs_azure *azure,
				   const struct sfs_azure_refusal *refusal,
				   unsigned edition, uint64_t signed_ns, bool may_wait)
{
	struct sfs_credentials c;
	enum sfs_azure_by by;

	get_keys(azure, &c);
	by = by_what(&c);
	sfs_credentials_done(&c);
	if (sfs_azure_refusal_is_of_clock(refusal, by, (int64_t)time(NULL)) &&
	    sfs_server_clock_learn(&azure->clock, refusal->date_s, signed_ns, "Azure"))
		return SFS_RENEWAL_NOW;
	if (!azure->keys || (refusal->status != 401 && refusal->status != 403))
		return SFS_RENEWAL_NO;
	return sfs_keys_renew(azure->keys, edition, signed_ns, may_wait);
}

/* ---- the dialect ---- */

static char *own_url(struct sfs_store *store, const struct sfs_object *o)
{
	struct sfs_azure *azure = azure_of(store);
	const char *key;
	sfs_autofree char *bucket = sfs_key_split(o->uri.location, &key);
	sfs_autofree char *container = url_of(azure, bucket);
	struct sfs_strbuf url = {0};

	sfs_strbuf_printf(&url, "%s/", container);
	sfs_key_encode(&url, key, true);
	add_sas(azure, &url);
	return url.s;
}

static void request(struct sfs_store *store, struct sfs_http_query *q, const char *url,
		    struct sfs_strbuf *lines, struct sfs_get *get)
{
	const struct sfs_object *o = q->object;
	struct conditions on = {0};
	char range[64];

	q->if_match = NULL;
	if (o->tag && !q->is_ask && !q->verify_size_only &&
	    sfs_http_etag_can_be_sent(o->tag))
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
	get->keys_edition = 0;
	snprintf(range, sizeof range, "bytes=%llu-%llu", (unsigned long long)q->first,
		 (unsigned long long)q->last);
	on.if_match = q->if_match;
	on.range = get->is_whole ? NULL : range;
	if (is_own(azure_of(store), url))
		get->keys_edition = authorize(azure_of(store), url, &on, lines);
	get->lines = lines->s;
}

static enum sfs_response_outcome judge(struct sfs_store *store,
				       const struct sfs_http_query *q,
				       const struct sfs_http_headers *a,
				       struct sfs_response_error *error)
{
	return sfs_response_judge_listed(q, a, error);
}

static enum sfs_response_outcome azure_explain(struct sfs_store *store,
					       const struct sfs_http_query *q,
					       const struct sfs_get *get,
					       const char *body,
					       enum sfs_response_outcome outcome,
					       struct sfs_response_error *error)
{
	struct sfs_azure_refusal refusal;
	sfs_autofree char *bucket = NULL;
	const char *key;

	if (error->err == -ESTALE)
		return outcome;
	sfs_azure_refusal_read(&get->response.headers, body, strlen(body), &refusal);
	if (refusal.status == 416 || refusal.status == 412)
		return outcome;
	bucket = sfs_key_split(q->object->uri.location, &key);
	describe(azure_of(store), bucket, key, &refusal, error->why, sizeof error->why);
	error->err = sfs_azure_refusal_err(&refusal);
	return refusal.reason == SFS_AZURE_OTHER
		       ? outcome
		       : sfs_response_told(refusal.reason == SFS_AZURE_LATER,
					   refusal.status, outcome);
}

/* The listing said it. */
static void learn(struct sfs_store *store, struct sfs_object *o,
		  const struct sfs_http_headers *headers)
{
	if (o->size == SFS_SIZE_UNKNOWN)
		sfs_response_learn(o, headers);
}

static enum sfs_renewal renew(struct sfs_store *store, struct sfs_fetch *fetch,
			      const struct sfs_http_query *q, const struct sfs_get *get,
			      const char *body)
{
	struct sfs_azure_refusal refusal;

	if (get->response.headers.status < 300 || !is_own(azure_of(store), get->url))
		return SFS_RENEWAL_NO;
	sfs_azure_refusal_read(&get->response.headers, body, body ? strlen(body) : 0,
			       &refusal);
	return learn_from(azure_of(store), &refusal, get->keys_edition, get->signed_ns,
			  false);
}

/* ---- listing ---- */

/* The URL of a page; its parameters are sorted, as they are signed. */
static char *url_of_page(struct sfs_azure *azure, const struct sfs_listing_ask *ask)
{
	sfs_autofree char *prefix = sfs_key_pattern_prefix(ask->pattern);
	sfs_autofree char *container = url_of(azure, ask->bucket);
	struct sfs_strbuf url = {0};

	sfs_strbuf_puts(&url, container);
	sfs_key_add_parameter(&url, "comp", "list");
	if (!sfs_key_pattern_is_deep(ask->pattern))
		sfs_key_add_parameter(&url, "delimiter", "/");
	if (ask->token)
		sfs_key_add_parameter(&url, "marker", ask->token);
	sfs_key_add_parameter(&url, "prefix", prefix);
	sfs_key_add_parameter(&url, "restype", "container");
	add_sas(azure, &url);
	return url.s;
}

/* The response has come: 0, or what is wrong.  *ret_again: it may be asked again. */
static int take_page(struct sfs_azure *azure, const char *bucket,
		     const struct sfs_curl_answer *answer, unsigned edition,
		     uint64_t signed_ns, struct sfs_listing *ret,
		     enum sfs_renewal *ret_again, struct sfs_error *err)
{
	const char *body = answer->body.s ? answer->body.s : "";
	struct sfs_azure_refusal refusal;
	char why[768];
	int code;

	if (answer->headers.status == 200) {
		code = sfs_azure_page_read(body, answer->body.n, ret, err);
		if (code < 0)
			*ret_again = SFS_RENEWAL_SOON;
		return code == 0 ? 0
				 : sfs_error_wrap(err, code,
						  "the answer is not a listing of Azure's");
	}
	sfs_azure_refusal_read(&answer->headers, body, strlen(body), &refusal);
	describe(azure, bucket, NULL, &refusal, why, sizeof why);
	*ret_again = learn_from(azure, &refusal, edition, signed_ns, true);
	if (refusal.reason == SFS_AZURE_LATER || sfs_response_is_later(refusal.status) ||
	    (refusal.reason == SFS_AZURE_OTHER && !refusal.code[0]))
		*ret_again = SFS_RENEWAL_SOON;
	return sfs_error_set(err, sfs_azure_refusal_err(&refusal), "%s", why);
}

static int get_page(void *ctx, const struct sfs_listing_ask *ask, struct sfs_listing *ret,
		    enum sfs_renewal *ret_again, struct sfs_error *err)
{
	struct sfs_azure *azure = ctx;
	sfs_autofree char *url = url_of_page(azure, ask);
	struct sfs_curl_call call = {.method = "GET", .url = url};
	const struct conditions none = {0};
	struct sfs_curl_answer answer;
	struct sfs_strbuf lines = {0};
	uint64_t signed_ns = sfs_clock_ns();
	unsigned edition = authorize(azure, url, &none, &lines);
	int code;

	call.lines = lines.s;
	code = sfs_listing_call(azure->caller, &call, &answer, ret_again, err);
	if (code == 0)
		code = take_page(azure, ask->bucket, &answer, edition, signed_ns, ret,
				 ret_again, err);
	sfs_curl_answer_done(&answer);
	sfs_strbuf_done(&lines);
	return code;
}

static int meet(struct sfs_store *store, const struct sfs_uri *uri, struct sfs_error *err)
{
	const char *key;
	sfs_autofree char *bucket = sfs_key_split(uri->location, &key);

	return sfs_azure_account_meet(&azure_of(store)->account, bucket, err);
}

static int list(struct sfs_store *store, const struct sfs_uri *uri,
		struct sfs_listing *ret, struct sfs_error *err)
{
	struct sfs_azure *azure = azure_of(store);
	int code = meet(store, uri, err);

	return code < 0 ? code
			: sfs_listing_read(uri, azure->http.n_retries, get_page, azure,
					   ret, err);
}

/* ---- life ---- */

static void stop(struct sfs_store *store)
{
	struct sfs_azure *azure = azure_of(store);

	sfs_keys_stop(azure->keys);
	sfs_curl_caller_free(azure->caller);
	sfs_azure_account_done(&azure->account);
	sfs_server_clock_done(&azure->clock);
	free(azure);
}

struct sfs_store *sfs_azure_start(const struct sfs_azure_options *o,
				  struct sfs_error *err)
{
	static const struct sfs_dialect dialect = {
		.url = own_url,
		.request = request,
		.judge = judge,
		.explain = azure_explain,
		.learn = learn,
		.redirect = sfs_http_redirect,
		.renew = renew,
	};
	struct sfs_azure *azure = sfs_calloc(1, sizeof *azure);
	const struct sfs_keys_options keys = {.name = "Azure",
						 .takes_bearer = true,
						 .find = sfs_azure_credentials_find,
						 .ctx = o->sas_file,
						 .http = &azure->http};

	azure->store = (struct sfs_store){.scheme = SFS_SCHEME_AZ,
					  .dialect = &dialect,
					  .meet = meet,
					  .list = list,
					  .stop = stop};
	azure->is_anonymous = o->is_anonymous;
	azure->http = *o->http;
	sfs_server_clock_init(&azure->clock);
	if (sfs_azure_account_find(o->endpoint, &azure->account, err) == 0)
		azure->caller = sfs_curl_caller_new(&azure->http, NULL, err);
	if (azure->caller && !o->is_anonymous)
		azure->keys = sfs_keys_start(&keys, err);
	if (azure->caller && (azure->keys || o->is_anonymous))
		return &azure->store;
	stop(&azure->store);
	return NULL;
}
