/* SPDX-License-Identifier: MIT */
/* How this works: a redirect is followed one hop a GET, and each GET is written for the
 * URL that it goes to.  So the user's headers and password go only to the origin that the
 * user named, wherever redirects and lists lead. */
#include "source/http/dialect.h"

#include "base/alloc.h"
#include "source/http/curl-url.h"
#include "source/target.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static char *own_url(struct sfs_store *store, const struct sfs_object *o)
{
	return sfs_strdup(o->uri.location);
}

static void request(struct sfs_store *store, struct sfs_http_query *q, const char *url,
		    struct sfs_strbuf *lines, struct sfs_get *get)
{
	const struct sfs_object *o = q->object;
	bool is_ours = sfs_url_same_origin(url, o->uri.location);

	q->if_match = NULL;
	if (!q->is_ask && !q->verify_size_only && o->tag &&
	    sfs_http_etag_can_be_sent(o->tag))
		q->if_match = o->tag;
	get->url = url;
	get->user = is_ours ? o->uri.user : NULL;
	get->has_user_headers = is_ours && !o->uri.is_foreign;
	get->if_match = q->if_match;
	get->first = q->first;
	get->last = q->last;
	get->is_whole = q->claim != NULL;
}

static enum sfs_response_outcome judge(struct sfs_store *store,
				       const struct sfs_http_query *q,
				       const struct sfs_http_headers *headers,
				       struct sfs_response_error *error)
{
	enum sfs_response_outcome outcome = sfs_response_judge(q, headers, error);
	size_t n;

	if (outcome != SFS_RESPONSE_FINAL || error->err != -EACCES ||
	    !q->object->uri.is_foreign)
		return outcome;
	n = strlen(error->why);
	snprintf(error->why + n, sizeof error->why - n,
		 " (headers and tokens are not sent to a host that only a list at "
		 "another one names; get the list first, and name its file)");
	return outcome;
}

static void learn(struct sfs_store *store, struct sfs_object *o,
		  const struct sfs_http_headers *headers)
{
	sfs_response_learn(o, headers);
}

/* May it be followed?  (What a name means is seen when it is connected to: curl-get.c.) */
static bool may_follow(const char *from, const char *to, struct sfs_response_error *error)
{
	sfs_autofree char *host = sfs_url_host(to), *refusal = NULL;

	if (sfs_url_is_downgrade(from, to)) {
		sfs_response_doubt(
			error, -EIO,
			"a redirect from https to http, which is not followed");
		return false;
	}
	if (sfs_target_may_name(host) || sfs_url_same_origin(from, to))
		return true;
	refusal = sfs_target_refusal(host, true);
	sfs_response_doubt(error, -EACCES, "%s", refusal);
	return false;
}

char *sfs_http_redirect(const char *from, const struct sfs_http_headers *headers,
			struct sfs_response_error *error)
{
	char *to = NULL;

	if (headers->location)
		to = sfs_url_resolve(from, headers->location);
	if (!to)
		sfs_response_doubt(
			error, -EIO,
			"a redirect whose Location is missing or not an http URL");
	else if (!may_follow(from, to, error))
		free(steal(&to));
	return to;
}

/* The user's headers may come from a file that somebody has renewed, or a command. */
static enum sfs_renewal renew(struct sfs_store *store, struct sfs_fetch *fetch,
			      const struct sfs_http_query *q, const struct sfs_get *get,
			      const char *refusal)
{
	int status = get->response.headers.status;
	/* Where an index is not there, many servers say that it is forbidden: no command
	 * is to run for each of them. */
	bool may_run = status == 401 || !q->may_be_tiny;

	return (status == 401 || status == 403) && get->has_user_headers
		       ? sfs_fetch_renew_headers(fetch, get, may_run)
		       : SFS_RENEWAL_NO;
}

const struct sfs_dialect sfs_dialect_plain = {
	.url = own_url,
	.request = request,
	.judge = judge,
	.learn = learn,
	.redirect = sfs_http_redirect,
	.renew = renew,
};
