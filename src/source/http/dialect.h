/* SPDX-License-Identifier: MIT */
/* dialect - what differs between the HTTP servers that hold objects.
 *
 * transfer.c fetches a range by GETs, hedges and retries; a dialect says how one such GET
 * is written and what its response means.  Plain HTTP is one (plain.c), S3 another
 * (source/s3).
 *
 * A new one is another instance of this struct in a room above this one, with a scheme of
 * its own (uri.h).  Whoever starts the source passes a *store*, which begins with struct
 * sfs_store and holds what the dialect needs to know (credentials, where its servers
 * are): objects of that scheme are the store's.  What it may need besides:
 *
 * - a URL that holds the range (WebHDFS): request() sets get->url, and redirect() takes
 *   the range out of the URL that is to be remembered;
 * - a server whose responses to reads do not say of which version they are (WebHDFS):
 *   read_status() reads another response that does;
 * - listing a folder: list() does it with listing.h and curl-call.h.
 *
 * All functions of a dialect run on the fetch thread, and do not wait.
 */
#ifndef SFS_DIALECT_H
#define SFS_DIALECT_H

#include "base/strbuf.h"
#include "source/http/fetch.h"
#include "source/http/renewal.h"
#include "source/http/response.h"

#include <stdbool.h>

struct sfs_dialect;
struct sfs_listing;

struct sfs_store {
	enum sfs_scheme scheme;
	const struct sfs_dialect *dialect;

	/* NULL, or: before the source starts: learn what a URL of an object says besides,
	 * or what has to be asked for it once.  It is called for URLs that list() was not
	 * called for.  Waits; one caller at a time.  < 0: *err says what is wrong. */
	int (*meet)(struct sfs_store *store, const struct sfs_uri *uri,
		    struct sfs_error *err);

	/* Before the source starts: the objects that a URL means, if its key is a pattern
	 * (listing.h); it is called for other URLs too.  Waits; one caller at a time.
	 * -ENOTDIR: it is no pattern, but names an object; -ENOENT: there are none;
	 * others; *err says why.  The caller frees the listing. */
	int (*list)(struct sfs_store *store, const struct sfs_uri *uri,
		    struct sfs_listing *ret, struct sfs_error *err);

	void (*stop)(struct sfs_store *store); /* and free; after the source */
};

#define SFS_REFUSAL_BYTES 4096 /* of an error's body that are kept */

struct sfs_dialect {
	/* The object's own URL.  The caller frees it. */
	char *(*url)(struct sfs_store *store, const struct sfs_object *object);

	/* Write the GET: set what struct sfs_get says that start() sets, and get->url.
	 * `url` is the object's own, or where redirects have led; borrowed until the GET
	 * ends, as is `lines`, an empty buffer for header lines or another URL.
	 * Credentials are for the object's own server only.  Sets query->if_match, which
	 * judge() needs.  It runs for each retry, hedge and redirect. */
	void (*request)(struct sfs_store *store, struct sfs_http_query *query,
			const char *url, struct sfs_strbuf *lines, struct sfs_get *get);

	/* What does the response mean?  See response.h. */
	enum sfs_response_outcome (*judge)(struct sfs_store *store,
					   const struct sfs_http_query *query,
					   const struct sfs_http_headers *headers,
					   struct sfs_response_error *ret_error);

	/* NULL, or: the response was judged AGAIN or FINAL, and this is its body, or the
	 * beginning of it, with a NUL behind it.  Says more about it in *error, and what
	 * it means now. */
	enum sfs_response_outcome (*explain)(struct sfs_store *store,
					     const struct sfs_http_query *query,
					     const struct sfs_get *get,
					     const char *refusal,
					     enum sfs_response_outcome outcome,
					     struct sfs_response_error *error);

	/* NULL, or: responses to reads do not say the version.  When all bytes of a
	 * request are there, its status is asked for at the object's own URL
	 * (query->is_status), and only then it is done; an ask that wants no bytes has
	 * just that.  judge() has said IN_BODY, and this is the body, with a NUL behind
	 * it.  Makes *headers those that HTTP would have: the size, a tag, a date. */
	enum sfs_response_outcome (*read_status)(struct sfs_store *store,
						 const struct sfs_http_query *query,
						 const char *body,
						 struct sfs_http_headers *headers,
						 struct sfs_response_error *error);

	/* An ask was answered: set the object's size, time and version. */
	void (*learn)(struct sfs_store *store, struct sfs_object *object,
		      const struct sfs_http_headers *headers);

	/* Where does a redirect that came from the URL `from` lead?  The caller frees the
	 * URL.  NULL: it is not followed, and *ret_error says why: it is a doubt
	 * (response.h). */
	char *(*redirect)(const char *from, const struct sfs_http_headers *headers,
			  struct sfs_response_error *ret_error);

	/* The GET was refused for good.  Is it of use to send it again, because the
	 * credentials are others by now, or something else that it is made of?  `refusal`
	 * is as for explain(); NULL without that. */
	enum sfs_renewal (*renew)(struct sfs_store *store, struct sfs_fetch *fetch,
				  const struct sfs_http_query *query,
				  const struct sfs_get *get, const char *refusal);

	/* NULL, or: a GET of this URL is to be sent again, because it failed.  From now
	 * on url() may name another server. */
	void (*avoid)(struct sfs_store *store, const char *url);
};

/* The redirect() of HTTP (RFC 9110), but none from https to http. */
char *sfs_http_redirect(const char *from, const struct sfs_http_headers *headers,
			struct sfs_response_error *ret_error);

/* Range, If-Match and ETag, the user's headers and password (RFC 9110). */
extern const struct sfs_dialect sfs_dialect_plain;

#endif
