/* SPDX-License-Identifier: MIT */
/* How this works: before the source starts, a thread lists what URLs mean (hf-listing.c).
 * Later the fetch thread has GETs written and judged here; it only reads what the other
 * has learned.
 *
 * The Hub's tags name bytes: the hash of a file, in listings, in ETag, and in
 * X-Linked-Etag of a redirect.  The ETag of the storage to which that leads is another
 * one, and does not count. */
#include "source/hf/hf-internal.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "source/hf/hf-page.h"
#include "source/http/curl-url.h"
#include "source/http/key-url.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define DEFAULT_ENDPOINT "https://huggingface.co"

/* ---- URLs and header lines ---- */

void sfs_hf_add_url(struct sfs_strbuf *url, const struct sfs_hf *hf, const char *kind,
		    const char *repo, const char *what, const char *revision)
{
	sfs_strbuf_printf(url, "%s/%s/%s/%s/", hf->endpoint, kind, repo, what);
	sfs_key_encode(url, revision, false);
}

bool sfs_hf_is_own(const struct sfs_hf *hf, const char *url)
{
	return sfs_url_same_origin(hf->endpoint, url);
}

unsigned sfs_hf_add_token(struct sfs_hf *hf, struct sfs_strbuf *lines)
{
	unsigned edition;
	char *token = sfs_hf_token_get(hf->token, &edition);

	if (!token)
		return 0;
	sfs_strbuf_printf(lines, "Authorization: Bearer %s\r\n", token);
	explicit_bzero(token, strlen(token));
	free(token);
	return edition;
}

/* ---- the dialect ---- */

static char *own_url(struct sfs_store *store, const struct sfs_object *o)
{
	struct sfs_hf *hf = sfs_hf_of(store);
	struct sfs_hf_name name;
	struct sfs_strbuf url = {0};

	if (sfs_hf_name_parse(o->uri.location, &name, NULL) < 0)
		return sfs_strdup(hf->endpoint); /* list() has refused such names */
	sfs_hf_add_url(&url, hf, "datasets", name.repo, "resolve",
		       sfs_hf_commit_of(hf, &name));
	sfs_strbuf_puts(&url, "/");
	sfs_key_encode(&url, name.path, true);
	sfs_hf_name_done(&name);
	return url.s;
}

/* If-Match is not sent: the storage has tags of its own. */
static void request(struct sfs_store *store, struct sfs_http_query *q, const char *url,
		    struct sfs_strbuf *lines, struct sfs_get *get)
{
	struct sfs_hf *hf = sfs_hf_of(store);

	q->if_match = NULL;
	q->is_elsewhere = !sfs_hf_is_own(hf, url);
	get->url = url;
	get->user = NULL;
	get->has_user_headers = false;
	get->is_signed_url = true;
	get->if_match = NULL;
	get->first = q->first;
	get->last = q->last;
	get->is_whole = q->claim != NULL;
	get->signed_ns = sfs_clock_ns();
	get->keys_edition = q->is_elsewhere ? 0 : sfs_hf_add_token(hf, lines);
	get->lines = lines->s;
}

/* A redirect says which bytes it leads to. */
static void note_link(struct sfs_object *o, const struct sfs_http_headers *a)
{
	char tag[SFS_HF_TAG_BYTES];

	sfs_hf_tag(a->linked_etag, tag);
	if (a->status < 300 || a->status >= 400 || !tag[0])
		return;
	free(o->linked_tag);
	o->linked_tag = sfs_strdup(tag);
}

/* The headers, with the Hub's tag of these bytes. */
static struct sfs_http_headers tagged(const struct sfs_object *o, bool is_elsewhere,
				      const struct sfs_http_headers *a)
{
	struct sfs_http_headers headers = *a;
	char tag[SFS_HF_TAG_BYTES] = "";
	const char *known = o->linked_tag ? o->linked_tag : o->tag;

	if (!is_elsewhere)
		sfs_hf_tag(a->linked_etag[0] ? a->linked_etag : a->etag, tag);
	else if (known)
		snprintf(tag, sizeof tag, "%s", known);
	if (tag[0]) {
		_Static_assert(sizeof headers.etag >= sizeof tag, "a tag fits");
		memcpy(headers.etag, tag, sizeof tag);
		headers.last_modified[0] = 0;
	}
	return headers;
}

static enum sfs_response_outcome judge(struct sfs_store *store,
				       const struct sfs_http_query *q,
				       const struct sfs_http_headers *a,
				       struct sfs_response_error *error)
{
	struct sfs_http_headers headers;

	note_link(q->object, a);
	headers = tagged(q->object, q->is_elsewhere, a);
	return sfs_response_judge_listed(q, &headers, error);
}

static void learn(struct sfs_store *store, struct sfs_object *o,
		  const struct sfs_http_headers *a)
{
	const struct sfs_http_headers headers = tagged(o, o->linked_tag != NULL, a);

	if (o->size == SFS_SIZE_UNKNOWN) /* else the listing said it */
		sfs_response_learn(o, &headers);
}

void sfs_hf_describe(const struct sfs_hf *hf, const struct sfs_hf_name *name,
		     const char *path, bool is_folder,
		     const struct sfs_hf_refusal *refusal, char *why, size_t size)
{
	const struct sfs_hf_asked asked = {
		.repo = name->repo,
		.revision = name->revision,
		.endpoint = hf->endpoint,
		.path = path,
		.is_folder = is_folder,
		.token_from = sfs_hf_token_from(hf->token),
	};

	sfs_hf_refusal_describe(refusal, &asked, why, size);
}

static enum sfs_response_outcome hf_explain(struct sfs_store *store,
					    const struct sfs_http_query *q,
					    const struct sfs_get *get, const char *body,
					    enum sfs_response_outcome outcome,
					    struct sfs_response_error *error)
{
	const struct sfs_http_headers *a = &get->response.headers;
	struct sfs_hf_refusal refusal;
	struct sfs_hf_name name;

	if (error->err == -ESTALE || a->status == 416)
		return outcome;
	if (q->is_elsewhere) {
		snprintf(error->why, sizeof error->why,
			 "HTTP %d from the storage that the Hub redirects to", a->status);
		return outcome;
	}
	if (sfs_hf_name_parse(q->object->uri.location, &name, NULL) < 0)
		return outcome;
	sfs_hf_refusal_read(a, body, strlen(body), &refusal);
	sfs_hf_describe(sfs_hf_of(store), &name, name.path, false, &refusal, error->why,
		 sizeof error->why);
	if (!sfs_response_is_later(a->status))
		error->err = sfs_hf_refusal_err(&refusal);
	sfs_hf_name_done(&name);
	return outcome;
}

/* A signed URL may have expired before it was its turn: the Hub makes another. */
static enum sfs_renewal renew(struct sfs_store *store, struct sfs_fetch *fetch,
			      const struct sfs_http_query *q, const struct sfs_get *get,
			      const char *refusal)
{
	int status = get->response.headers.status;

	if (status != 401 && status != 403)
		return SFS_RENEWAL_NO;
	if (q->is_elsewhere)
		return SFS_RENEWAL_NOW;
	return sfs_hf_token_renew(sfs_hf_of(store)->token, get->keys_edition,
				  get->signed_ns, false);
}

/* ---- life ---- */

static void stop(struct sfs_store *store)
{
	struct sfs_hf *hf = sfs_hf_of(store);

	sfs_curl_caller_free(hf->caller);
	sfs_hf_token_stop(hf->token);
	sfs_hf_listing_done(hf);
	free(hf->endpoint);
	free(hf);
}

static char *read_endpoint(const char *option, struct sfs_error *err)
{
	const char *variable = getenv("HF_ENDPOINT");

	return sfs_endpoint_read(option			 ? option
				 : variable && *variable ? variable
							 : DEFAULT_ENDPOINT,
				 err);
}

struct sfs_store *sfs_hf_start(const struct sfs_hf_options *o, struct sfs_error *err)
{
	static const struct sfs_dialect dialect = {
		.url = own_url,
		.request = request,
		.judge = judge,
		.explain = hf_explain,
		.learn = learn,
		.redirect = sfs_http_redirect,
		.renew = renew,
	};
	struct sfs_hf *hf = sfs_calloc(1, sizeof *hf);

	hf->store = (struct sfs_store){.scheme = SFS_SCHEME_HF,
				       .dialect = &dialect,
				       .meet = sfs_hf_meet,
				       .list = sfs_hf_list,
				       .stop = stop};
	hf->http = *o->http;
	sfs_hf_listing_init(hf);
	hf->endpoint = read_endpoint(o->endpoint, err);
	if (hf->endpoint)
		hf->token = sfs_hf_token_start(&hf->http, err);
	if (hf->token)
		hf->caller = sfs_curl_caller_new(&hf->http, NULL, err);
	if (hf->caller)
		return &hf->store;
	stop(&hf->store);
	return NULL;
}
