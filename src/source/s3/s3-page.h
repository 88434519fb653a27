/* SPDX-License-Identifier: MIT */
/* s3-page - a page of a bucket's listing: the response to ListObjectsV2.
 *
 * Every byte of it comes from a server.  Pure.
 */
#ifndef SFS_S3_PAGE_H
#define SFS_S3_PAGE_H

#include "source/http/listing.h"

#define SFS_S3_GENERATION_TAG "\"generation %s\"" /* made of what Google says */

/* The tags are the objects' ETags, or made of their generations.  -EBADMSG: it is not
 * such a page; *err says why. */
int sfs_s3_page_read(const char *bytes, size_t n, bool has_generations,
		     struct sfs_listing *ret, struct sfs_error *err);

#endif
