/* SPDX-License-Identifier: MIT */
/* webhdfs-url - the URLs of WebHDFS.
 *
 * A file's own URL is "http://namenode:9870/webhdfs/v1/path?user.name=me&": it ends in
 * '?' or '&', and an operation is added to it.  Where a redirect has led, to a datanode,
 * the operation is there already; only the range is not.  Both hold credentials.  Pure.
 */
#ifndef SFS_WEBHDFS_URL_H
#define SFS_WEBHDFS_URL_H

#include "base/strbuf.h"

#include <stdbool.h>
#include <stdint.h>

/* "http://host:9870" for "webhdfs://host:9870/...".  Of "hdfs://host:8020", whose port is
 * not HTTP's, it is the default one.  NULL: there is no host.  The caller frees it. */
char *sfs_webhdfs_endpoint(const char *location);

/* The own URL; without a token, by `user`, which may be NULL as well.  The caller
 * frees it. */
char *sfs_webhdfs_url(const char *endpoint, const char *path, const char *user,
		      const char *token);
bool sfs_webhdfs_url_is_own(const char *url);

/* Add the GET for this range to *to. */
void sfs_webhdfs_add_read(struct sfs_strbuf *to, const char *url, uint64_t offset,
			  uint64_t n_bytes);

/* Take the range out of the URL of a redirect, in place. */
void sfs_webhdfs_drop_range(char *url);

#endif
