/* SPDX-License-Identifier: MIT */
/* ais - objects of an AIStore cluster, as a store of the HTTP source.
 *
 * A GET goes to the proxy, which redirects it to the target that has the object; where
 * that is, the source remembers for the object.  The token goes to the proxy only: the
 * redirect is itself the key to the target, and never shown.
 */
#ifndef SFS_AIS_H
#define SFS_AIS_H

#include "source/http/dialect.h"

struct sfs_ais_options {
	const char *endpoint;		     /* a proxy; NULL: as AIS_ENDPOINT says */
	const char *provider;		     /* NULL: AIStore's own buckets */
	const struct sfs_http_options *http; /* for requests of its own: strings are
					      * borrowed */
};

/* NULL and *err: a setting is wrong or missing. */
struct sfs_store *sfs_ais_start(const struct sfs_ais_options *options,
				struct sfs_error *err);

#endif
