/* SPDX-License-Identifier: MIT */
/* dialect - what differs between the HTTP servers that hold objects.
 *
 * transfer.c fetches a range by GETs, hedges and retries; a dialect says how one such GET
 * is written and what its response means.  Plain HTTP is the only dialect yet; it needs
 * no more than what is here.
 *
 * A new dialect (S3, AIStore, WebHDFS, ...) is another instance of this struct, chosen in
 * dialect_of() of transfer.c by the scheme of the object's URI.  What it may need
 * besides:
 *
 * - header lines of its own (a signature): a field of struct sfs_get that curl-get.c and
 *   http1-request.c write.  request() runs for each retry, hedge and redirect;
 * - a URL that holds the range (WebHDFS): request() sets get->url, and redirect() takes
 *   the range out of the URL that is to be remembered;
 * - the body of an error, which says why (WebHDFS's 403, S3's clock skew): it is dropped
 *   once judge() has refused the response;
 * - listing a folder: plain HTTP has none, so no function is here for it.
 *
 * All functions run on the fetch thread, and do not wait.
 */
#ifndef SFS_DIALECT_H
#define SFS_DIALECT_H

#include "source/http/fetch.h"
#include "source/http/response.h"

#include <stdbool.h>

struct sfs_dialect {
	/* Write the GET: set what struct sfs_get says that start() sets, and get->url.
	 * `url` is the object's own, or where redirects have led; borrowed until the GET
	 * ends.  Credentials are for the object's own server only.  Sets
	 * query->if_match, which judge() needs. */
	void (*request)(struct sfs_http_query *query, const char *url,
			struct sfs_get *get);

	/* What does the response mean?  See response.h. */
	enum sfs_response_outcome (*judge)(const struct sfs_http_query *query,
					   const struct sfs_http_headers *headers,
					   struct sfs_response_error *ret_error);

	/* An ask was answered: set the object's size, time and version. */
	void (*learn)(struct sfs_object *object, const struct sfs_http_headers *headers);

	/* Where does a redirect that came from the URL `from` lead?  The caller frees the
	 * URL.  NULL: it is not followed, and *ret_error says why. */
	char *(*redirect)(const char *from, const struct sfs_http_headers *headers,
			  struct sfs_response_error *ret_error);

	/* The GET's credentials were refused (401, 403).  true: there are others by now,
	 * so that it is of use to send the request again. */
	bool (*renew)(struct sfs_fetch *fetch, const struct sfs_get *get);
};

/* Range, If-Match and ETag, the user's headers and password (RFC 9110). */
extern const struct sfs_dialect sfs_dialect_plain;

#endif
