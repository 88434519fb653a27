/* SPDX-License-Identifier: MIT */
/* s3-page - a page of a bucket's listing: the response to ListObjectsV2.
 *
 * Every byte of it comes from a server.  Pure.
 */
#ifndef SFS_S3_PAGE_H
#define SFS_S3_PAGE_H

#include "source/http/listing.h"

/* -EBADMSG: it is not such a page; *err says why. */
int sfs_s3_page_read(const char *bytes, size_t n, struct sfs_listing *ret,
		     struct sfs_error *err);

#endif
