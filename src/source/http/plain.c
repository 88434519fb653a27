/* SPDX-License-Identifier: MIT */
/* How this works: a redirect is followed one hop a GET, and each GET is written for the
 * URL that it goes to.  So the user's headers and password go only to the origin that the
 * user named, wherever redirects lead. */
#include "source/http/dialect.h"

#include "source/http/curl-url.h"

#include <errno.h>

static void request(struct sfs_http_query *q, const char *url, struct sfs_get *get)
{
	const struct sfs_object *o = q->object;
	bool is_ours = sfs_url_same_origin(url, o->uri.location);

	q->if_match = NULL;
	if (!q->is_ask && !q->verify_size_only && o->tag &&
	    sfs_http_etag_can_be_sent(o->tag))
		q->if_match = o->tag;
	get->url = url;
	get->user = is_ours ? o->uri.user : NULL;
	get->has_user_headers = is_ours;
	get->if_match = q->if_match;
	get->first = q->first;
	get->last = q->last;
	get->is_whole = q->claim != NULL;
}

static char *redirect(const char *from, const struct sfs_http_headers *headers,
		      struct sfs_response_error *error)
{
	char *to = NULL;

	if (*headers->location)
		to = sfs_url_resolve(from, headers->location);
	if (!to) {
		sfs_response_final(
			error, -EIO,
			"a redirect whose Location is missing or not an http URL");
	} else if (sfs_url_is_downgrade(from, to)) {
		sfs_response_final(
			error, -EIO,
			"a redirect from https to http, which is not followed");
		free(to);
		return NULL;
	}
	return to;
}

/* The user's headers may come from a file that somebody has renewed. */
static bool renew(struct sfs_fetch *fetch, const struct sfs_get *get)
{
	return get->has_user_headers && sfs_fetch_has_new_headers(fetch, get);
}

const struct sfs_dialect sfs_dialect_plain = {
	.request = request,
	.judge = sfs_response_judge,
	.learn = sfs_response_learn,
	.redirect = redirect,
	.renew = renew,
};
