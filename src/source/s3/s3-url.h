/* SPDX-License-Identifier: MIT */
/* s3-url - where the objects of a bucket of S3 are asked for.
 *
 * How a key is written behind that, in the URL and in the signature, key-url.h says.
 * Pure.
 */
#ifndef SFS_S3_URL_H
#define SFS_S3_URL_H

#include "base/error.h"

#include <stdbool.h>

enum sfs_s3_style { SFS_S3_STYLE_AUTO, SFS_S3_STYLE_PATH, SFS_S3_STYLE_VIRTUAL };

/* Which service: NULL is AWS, in the region of each bucket. */
struct sfs_s3_service {
	char *endpoint; /* "https://host:9000" or with a path; no '/' at its end */
	enum sfs_s3_style style; /* AUTO: the bucket is in the path if there is an
				  * endpoint, or a dot in its name (certificates of AWS
				  * are for one label); else in the host's name */
};

/* Take `text` as an endpoint.  -EINVAL: it is no http or https URL, or one with a user or
 * a query; *err says so. */
int sfs_s3_service_set(struct sfs_s3_service *service, const char *text,
		       struct sfs_error *err);
void sfs_s3_service_done(struct sfs_s3_service *service);

/* The URL of a bucket, with a '/' at its end.  The caller frees it. */
char *sfs_s3_url_of_bucket(const struct sfs_s3_service *service, const char *bucket,
			   const char *region);

/* What a request to this URL has as its Host, as libcurl and we write it, and where its
 * path begins in `url`.  The caller frees it. */
char *sfs_s3_host(const char *url, const char **ret_path);

#endif
