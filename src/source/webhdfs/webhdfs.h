/* SPDX-License-Identifier: MIT */
/* webhdfs - files of HDFS, as a store of the HTTP source.
 *
 * A GET goes to a namenode, which redirects it to a datanode that has the bytes; where
 * that is, the source remembers for the file.  Neither says of which version they are: so
 * each request ends with a question to the namenode.  A redirect may hold a token, and is
 * never shown.
 */
#ifndef SFS_WEBHDFS_H
#define SFS_WEBHDFS_H

#include "source/http/dialect.h"

struct sfs_webhdfs_options {
	/* Namenodes, with a ';' or ',' between them, of which one is active: instead of
	 * the hosts in URLs.  NULL: those. */
	const char *endpoint;
	const struct sfs_http_options *http; /* for requests of its own: strings are
					      * borrowed */
};

/* NULL and *err: a setting is wrong. */
struct sfs_store *sfs_webhdfs_start(const struct sfs_webhdfs_options *options,
				    struct sfs_error *err);

#endif
