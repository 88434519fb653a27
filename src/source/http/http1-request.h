/* SPDX-License-Identifier: MIT */
/* plain - which GETs may go over a wire (wire.h), and what is written there.
 *
 * Only those of which libcurl would make nothing else: http, no proxy, no credentials,
 * a URL and headers that are sent as they stand.  Anything else is libcurl's. */
#ifndef SFS_HTTP1_REQUEST_H
#define SFS_HTTP1_REQUEST_H

#include "source/http/fetch-options.h"
#include "source/http/get.h"
#include "source/http/user-headers.h"

struct sfs_http1_request;

struct sfs_http1_request *sfs_http1_request_new(const struct sfs_fetch_options *options);
void sfs_http1_request_set_headers(struct sfs_http1_request *plain,
				   const struct sfs_user_headers *headers);
void sfs_http1_request_free(struct sfs_http1_request *plain);

/* The request's text, as libcurl would write it, and its origin ("host:port"); the
 * caller frees both.  NULL: not over a wire, and *ret_origin stays as it was.  Looks
 * whether there is a .netrc, so it reads the disk's names. */
char *sfs_http1_request_write(const struct sfs_http1_request *plain,
			      const struct sfs_get *get, char **ret_origin);

#endif
