/* SPDX-License-Identifier: MIT */
/* curl-url - URLs, read as libcurl reads them.
 *
 * Any thread. */
#ifndef SFS_CURL_URL_H
#define SFS_CURL_URL_H

#include <stdbool.h>

/* May a request to one of these URLs carry what was meant for the other?  Yes if scheme,
 * host and port are the same. */
bool sfs_url_same_origin(const char *a, const char *b);

/* Is `to` protected worse than `from`: from https to http? */
bool sfs_url_is_downgrade(const char *from, const char *to);

/* The host, lower case, an IPv4 address in four decimal numbers, an IPv6 one in brackets; ""
 * if there is none.  The caller frees it. */
char *sfs_url_host(const char *url);

/* `location` as a whole URL, relative to `base` (RFC 3986, 5), without user and fragment;
 * the caller frees it.  NULL: not http or https. */
char *sfs_url_resolve(const char *base, const char *location);

#endif
