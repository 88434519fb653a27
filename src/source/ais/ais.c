/* SPDX-License-Identifier: MIT */
/* How this works: before the source starts, a thread comes here with each URL (list()):
 * then a bucket is asked once for its properties, which say what tells versions of its
 * objects apart, and patterns are listed.  Later the fetch thread has GETs written and
 * judged; it only reads what the other has learned. */
#include "source/ais/ais.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/list.h"
#include "base/stall.h"
#include "source/ais/ais-page.h"
#include "source/ais/ais-refusal.h"
#include "source/ais/ais-token.h"
#include "source/ais/ais-version.h"
#include "source/http/curl-call.h"
#include "source/http/key-url.h"
#include "source/http/listing.h"
#include "source/key-pattern.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#define PROPS_FIELD "Ais-Bucket-Props:"

struct bucket {
	struct sfs_link link;
	char *name;
	struct sfs_ais_props props;
};

struct sfs_ais {
	struct sfs_store store; /* first */
	char *endpoint, *provider;
	struct sfs_http_options http; /* its strings are the caller's */
	struct sfs_bearer *token;
	struct sfs_curl_caller *caller; /* of the thread that lists */
	struct sfs_link buckets;
};

static struct sfs_ais *ais_of(struct sfs_store *store)
{
	return sfs_container(store, struct sfs_ais, store);
}

/* ---- URLs and header lines ---- */

/* "ENDPOINT/v1/WHAT/BUCKET" and the key. */
static char *url_of(const struct sfs_ais *ais, const char *what, const char *bucket,
		    const char *key)
{
	struct sfs_strbuf url = {0};

	sfs_strbuf_printf(&url, "%s/v1/%s/%s%s", ais->endpoint, what, bucket,
			  key ? "/" : "");
	if (key)
		sfs_key_encode(&url, key, true);
	if (ais->provider)
		sfs_strbuf_printf(&url, "?provider=%s", ais->provider);
	return url.s;
}

static bool is_own(const struct sfs_ais *ais, const char *url)
{
	size_t n = strlen(ais->endpoint);

	return strncmp(url, ais->endpoint, n) == 0 && strncmp(url + n, "/v1/", 4) == 0;
}

/* Returns the edition of the token; 0: there is none. */
static unsigned add_token(struct sfs_ais *ais, struct sfs_strbuf *lines)
{
	unsigned edition;
	const char *value = sfs_bearer_get(ais->token, &edition);

	if (value)
		sfs_strbuf_printf(lines, "Authorization: Bearer %s\r\n", value);
	return edition;
}

static void describe(const struct sfs_ais *ais, const char *bucket, const char *key,
		     const struct sfs_ais_refusal *refusal, char *why, size_t size)
{
	const struct sfs_ais_asked asked = {
		.bucket = bucket,
		.key = key,
		.endpoint = ais->endpoint,
		.provider = ais->provider,
		.token_from = sfs_bearer_from(ais->token),
	};

	sfs_ais_refusal_describe(refusal, &asked, why, size);
}

/* ---- versions ---- */

static struct bucket *find_bucket(const struct sfs_ais *ais, const char *name)
{
	SFS_EACH (bucket, &ais->buckets, struct bucket, link) {
		if (strcmp(bucket->name, name) == 0)
			return bucket;
	}
	return NULL;
}

/* What counts where the bucket did not say. */
static struct sfs_ais_props props_of(const struct sfs_ais *ais, const char *name)
{
	const struct bucket *bucket = find_bucket(ais, name);

	return bucket ? bucket->props : (struct sfs_ais_props){.has_versions = true};
}

/* The headers, with a tag that says which version they are of. */
static struct sfs_http_headers tagged(struct sfs_store *store, const struct sfs_object *o,
				      const struct sfs_http_headers *a)
{
	struct sfs_http_headers headers = *a;
	struct sfs_ais_props props;
	sfs_autofree char *bucket = NULL;
	const char *key;

	bucket = sfs_key_split(o->uri.location, &key);
	props = props_of(ais_of(store), bucket);
	_Static_assert(sizeof headers.etag >= SFS_AIS_TAG_BYTES, "a tag fits");
	sfs_ais_tag(&props, a->ais_version, a->ais_checksum, headers.etag);
	return headers;
}

/* ---- the dialect ---- */

static char *own_url(struct sfs_store *store, const struct sfs_object *o)
{
	sfs_autofree char *bucket = NULL;
	const char *key;

	bucket = sfs_key_split(o->uri.location, &key);
	return url_of(ais_of(store), "objects", bucket, key);
}

/* If-Match is not sent: AIStore ignores it. */
static void request(struct sfs_store *store, struct sfs_http_query *q, const char *url,
		    struct sfs_strbuf *lines, struct sfs_get *get)
{
	struct sfs_ais *ais = ais_of(store);

	q->if_match = NULL;
	get->url = url;
	get->user = NULL;
	get->has_user_headers = false;
	get->is_signed_url = true;
	get->if_match = NULL;
	get->first = q->first;
	get->last = q->last;
	get->is_whole = q->claim != NULL;
	get->keys_edition = is_own(ais, url) ? add_token(ais, lines) : 0;
	get->lines = lines->s;
}

static enum sfs_response_outcome judge(struct sfs_store *store,
				       const struct sfs_http_query *q,
				       const struct sfs_http_headers *a,
				       struct sfs_response_error *error)
{
	const struct sfs_http_headers headers = tagged(store, q->object, a);

	return sfs_response_judge_listed(q, &headers, error);
}

static enum sfs_response_outcome ais_explain(struct sfs_store *store,
					     const struct sfs_http_query *q,
					     const struct sfs_get *get, const char *body,
					     enum sfs_response_outcome outcome,
					     struct sfs_response_error *error)
{
	struct sfs_ais_refusal refusal;
	sfs_autofree char *bucket = NULL;
	const char *key;

	if (error->err == -ESTALE)
		return outcome;
	sfs_ais_refusal_read(get->response.headers.status, body, strlen(body), &refusal);
	if (refusal.status == 416)
		return outcome;
	bucket = sfs_key_split(q->object->uri.location, &key);
	describe(ais_of(store), bucket, key, &refusal, error->why, sizeof error->why);
	error->err = sfs_ais_refusal_err(&refusal);
	return outcome;
}

/* The listing said it. */
static void learn(struct sfs_store *store, struct sfs_object *o,
		  const struct sfs_http_headers *a)
{
	const struct sfs_http_headers headers = tagged(store, o, a);

	if (o->size == SFS_SIZE_UNKNOWN)
		sfs_response_learn(o, &headers);
}

static enum sfs_renewal renew(struct sfs_store *store, struct sfs_fetch *fetch,
			      const struct sfs_http_query *q, const struct sfs_get *get,
			      const char *refusal)
{
	struct sfs_ais *ais = ais_of(store);
	int status = get->response.headers.status;

	return (status == 401 || status == 403) && is_own(ais, get->url) &&
			       sfs_bearer_renew(ais->token, get->keys_edition)
		       ? SFS_RENEWAL_NOW
		       : SFS_RENEWAL_NO;
}

/* ---- what a bucket is like ---- */

/* The value of the header with the bucket's properties; NULL: there is none.  The caller
 * frees it. */
static char *find_props(const struct sfs_strbuf *head)
{
	const char *line, *end;

	for (line = head->s; line && *line; line = *end ? end + 1 : end) {
		end = strchrnul(line, '\n');
		if (strncasecmp(line, PROPS_FIELD, strlen(PROPS_FIELD)) == 0) {
			line += strlen(PROPS_FIELD);
			return sfs_strndup(line, (size_t)(end - line));
		}
	}
	return NULL;
}

/* Ask the bucket.  What fails here is no error: it will be said of a listing or of an
 * object, or it does not matter to them. */
static struct sfs_ais_props ask_props(struct sfs_ais *ais, const char *name)
{
	sfs_autofree char *url = url_of(ais, "buckets", name, NULL), *text = NULL;
	struct sfs_curl_call call = {.method = "HEAD", .url = url};
	struct sfs_ais_props props = props_of(ais, name);
	struct sfs_curl_answer answer;
	struct sfs_strbuf lines = {0};
	struct sfs_error ignored;

	add_token(ais, &lines);
	call.lines = lines.s;
	if (sfs_curl_call(ais->caller, &call, &answer, &ignored) == 0 &&
	    answer.headers.status == 200)
		text = find_props(&answer.head);
	if (text)
		sfs_ais_props_read(text, strlen(text), &props);
	/* Of a cloud's object the checksum may come only when it is in the cluster. */
	if (ais->provider && strcmp(ais->provider, "ais") != 0)
		props.has_checksums = false;
	sfs_stall_note_answer();
	sfs_curl_answer_done(&answer);
	sfs_strbuf_done(&lines);
	return props;
}

static void meet_bucket(struct sfs_ais *ais, const char *name)
{
	struct bucket *bucket;

	if (find_bucket(ais, name))
		return;
	bucket = sfs_calloc(1, sizeof *bucket);
	bucket->props = ask_props(ais, name);
	bucket->name = sfs_strdup(name);
	sfs_list_push(&ais->buckets, &bucket->link);
}

/* ---- listing ---- */

/* The response has come: 0, or what is wrong.  *ret_again: it may be asked again. */
static int take_page(struct sfs_ais *ais, const char *bucket,
		     const struct sfs_curl_answer *answer, unsigned edition,
		     struct sfs_listing *ret, enum sfs_renewal *ret_again,
		     struct sfs_error *err)
{
	const char *body = answer->body.s ? answer->body.s : "";
	const struct sfs_ais_props props = props_of(ais, bucket);
	int status = answer->headers.status, code;
	struct sfs_ais_refusal refusal;
	char why[768];

	if (status == 200) {
		code = sfs_ais_page_read(body, answer->body.n, &props, ret, err);
		if (code < 0)
			*ret_again = SFS_RENEWAL_SOON;
		return code == 0 ? 0
				 : sfs_error_wrap(err, code,
						  "the answer is not a listing of AIStore's");
	}
	sfs_ais_refusal_read(status, body, strlen(body), &refusal);
	describe(ais, bucket, NULL, &refusal, why, sizeof why);
	if ((status == 401 || status == 403) && sfs_bearer_renew(ais->token, edition))
		*ret_again = SFS_RENEWAL_NOW;
	else if (sfs_response_is_later(status) ||
		 (!refusal.code[0] && sfs_ais_refusal_err(&refusal) == -EIO))
		*ret_again = SFS_RENEWAL_SOON;
	return sfs_error_set(err, sfs_ais_refusal_err(&refusal), "%s", why);
}

/* Only of AIStore's own buckets are the tags in a listing those of the objects. */
static void drop_tags(const struct sfs_ais *ais, struct sfs_listing *page)
{
	size_t i;

	if (!ais->provider || strcmp(ais->provider, "ais") == 0)
		return;
	for (i = 0; i < page->n; i++)
		free(steal(&page->items[i].tag));
}

static int get_page(void *ctx, const struct sfs_listing_ask *ask, struct sfs_listing *ret,
		    enum sfs_renewal *ret_again, struct sfs_error *err)
{
	struct sfs_ais *ais = ctx;
	sfs_autofree char *url = url_of(ais, "buckets", ask->bucket, NULL),
			  *prefix = sfs_key_pattern_prefix(ask->pattern);
	struct sfs_strbuf lines = {0}, body = {0};
	struct sfs_curl_call call = {.method = "GET", .url = url};
	struct sfs_curl_answer answer;
	unsigned edition;
	int code;

	sfs_strbuf_puts(&lines, "Content-Type: application/json\r\n");
	edition = add_token(ais, &lines);
	sfs_ais_page_ask(&body, prefix, ask->token);
	call.lines = lines.s;
	call.body = body.s;
	code = sfs_listing_call(ais->caller, &call, &answer, ret_again, err);
	if (code == 0)
		code = take_page(ais, ask->bucket, &answer, edition, ret, ret_again, err);
	if (code == 0)
		drop_tags(ais, ret);
	sfs_curl_answer_done(&answer);
	sfs_strbuf_done(&lines);
	sfs_strbuf_done(&body);
	return code;
}

static int meet(struct sfs_store *store, const struct sfs_uri *uri, struct sfs_error *err)
{
	const char *key;
	sfs_autofree char *bucket = sfs_key_split(uri->location, &key);

	meet_bucket(ais_of(store), bucket);
	return 0;
}

static int list(struct sfs_store *store, const struct sfs_uri *uri,
		struct sfs_listing *ret, struct sfs_error *err)
{
	struct sfs_ais *ais = ais_of(store);

	meet(store, uri, err);
	return sfs_listing_read(uri, ais->http.n_retries, get_page, ais, ret, err);
}

/* ---- life ---- */

static int set_service(struct sfs_ais *ais, const struct sfs_ais_options *o,
		       struct sfs_error *err)
{
	const char *variable = getenv("AIS_ENDPOINT"),
		   *endpoint = o->endpoint ? o->endpoint : variable;

	if (!endpoint || !*endpoint)
		return sfs_error_set(err, -EINVAL,
				     "ais:// needs the URL of a proxy of the cluster: "
				     "set endpoint= or AIS_ENDPOINT");
	ais->endpoint = sfs_endpoint_read(endpoint, err);
	if (!ais->endpoint)
		return -EINVAL;
	ais->provider = o->provider ? sfs_strdup(o->provider) : NULL;
	if (ais->provider &&
	    (!*ais->provider ||
	     ais->provider[strspn(ais->provider,
				  "abcdefghijklmnopqrstuvwxyz0123456789")]))
		return sfs_error_set(err, -EINVAL,
				     "'%s' is not a provider: write aws, gcp or azure",
				     ais->provider);
	return 0;
}

static void stop(struct sfs_store *store)
{
	struct sfs_ais *ais = ais_of(store);
	struct sfs_link *link;
	struct bucket *bucket;

	sfs_curl_caller_free(ais->caller);
	sfs_bearer_stop(ais->token);
	while ((link = sfs_list_pop(&ais->buckets)) != NULL) {
		bucket = sfs_container(link, struct bucket, link);
		free(bucket->name);
		free(bucket);
	}
	free(ais->endpoint);
	free(ais->provider);
	free(ais);
}

struct sfs_store *sfs_ais_start(const struct sfs_ais_options *o, struct sfs_error *err)
{
	static const struct sfs_dialect dialect = {
		.url = own_url,
		.request = request,
		.judge = judge,
		.explain = ais_explain,
		.learn = learn,
		.redirect = sfs_http_redirect,
		.renew = renew,
	};
	struct sfs_ais *ais = sfs_calloc(1, sizeof *ais);

	ais->store = (struct sfs_store){.scheme = SFS_SCHEME_AIS,
					.dialect = &dialect,
					.list = list,
					.stop = stop};
	ais->http = *o->http;
	sfs_list_init(&ais->buckets);
	if (set_service(ais, o, err) == 0)
		ais->token = sfs_ais_token_start(err);
	if (ais->token)
		ais->caller = sfs_curl_caller_new(&ais->http, NULL, err);
	if (ais->caller)
		return &ais->store;
	stop(&ais->store);
	return NULL;
}
