/* SPDX-License-Identifier: MIT */
/* plain - which GETs may go over a wire (wire.h), and what is written there.
 *
 * Only those of which libcurl would make nothing else: http, no proxy, no credentials,
 * a URL and headers that are sent as they stand.  Anything else is libcurl's. */
#ifndef SFS_PLAIN_H
#define SFS_PLAIN_H

#include "fetch.h"
#include "headers.h"

struct sfs_plain;

struct sfs_plain *sfs_plain_new(const struct sfs_fetch_options *options);
void sfs_plain_set_headers(struct sfs_plain *plain, const struct sfs_headers *headers);
void sfs_plain_free(struct sfs_plain *plain);

/* The request's text, as libcurl would write it, and its origin ("host:port"); the
 * caller frees both.  NULL: not over a wire, and *ret_origin stays as it was.  Looks
 * whether there is a .netrc, so it reads the disk's names. */
char *sfs_plain_write(const struct sfs_plain *plain, const struct sfs_get *get,
		      char **ret_origin);

#endif
