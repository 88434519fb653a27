/* SPDX-License-Identifier: MIT */
/* s3 - objects of S3 and its like (MinIO, Ceph, R2), and of Google Cloud Storage, as
 * stores of the HTTP source.
 *
 * It signs each GET as it is sent, reads why one was refused, and lists buckets.
 * Credentials are found where the service's tools look (s3-kind.h) and renewed in time.
 * The region of a bucket is learned from the server, if region= is wrong or missing; so
 * is the server's clock, if ours is wrong.
 */
#ifndef SFS_S3_H
#define SFS_S3_H

#include "source/http/dialect.h"
#include "source/s3/s3-kind.h"
#include "source/s3/s3-url.h"

struct sfs_s3_options {
	const struct sfs_s3_kind *kind;
	const char *endpoint, *region; /* NULL: as the user's settings say */
	enum sfs_s3_style style;
	bool is_anonymous;		     /* sign nothing */
	bool requester_pays;		     /* say that we do */
	const char *user_project; /* Google's that pays for requests and data; or NULL */
	const struct sfs_http_options *http; /* for requests of its own: strings are
					      * borrowed */
};

/* Waits for credentials, which need not exist.  NULL and *err: a setting is wrong, or
 * there should be credentials and are none. */
struct sfs_store *sfs_s3_start(const struct sfs_s3_options *options,
			       struct sfs_error *err);

#endif
