/* SPDX-License-Identifier: MIT */
/* http1-request - the text of a request over our own connection (http1.h), and which GETs
 * may have one.
 *
 * Only those that libcurl would send just so: no proxy, no credentials, a URL and headers
 * that are sent as they stand.  Anything else is libcurl's. */
#ifndef SFS_HTTP1_REQUEST_H
#define SFS_HTTP1_REQUEST_H

#include "source/http/fetch-options.h"
#include "source/http/get.h"
#include "source/http/user-headers.h"

struct sfs_http1_request;

struct sfs_http1_request *sfs_http1_request_new(const struct sfs_fetch_options *options);
void sfs_http1_request_set_headers(struct sfs_http1_request *request,
				   const struct sfs_user_headers *headers);
void sfs_http1_request_free(struct sfs_http1_request *request);

/* The request's text, as libcurl would write it, and its origin ("host:port", with TLS
 * "https://host:port"); the caller frees both.  NULL: it is libcurl's, and *ret_origin
 * stays as it was.  Looks whether there is a .netrc, so it asks the local file system. */
char *sfs_http1_request_write(const struct sfs_http1_request *request,
			      const struct sfs_get *get, char **ret_origin);

#endif
