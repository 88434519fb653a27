/* SPDX-License-Identifier: MIT */
/* azure-page - a page of a container's listing: the response to List Blobs.
 *
 * Every byte of it comes from a server.  Pure.
 */
#ifndef SFS_AZURE_PAGE_H
#define SFS_AZURE_PAGE_H

#include "source/http/listing.h"

/* -EBADMSG: it is not such a page; *err says why. */
int sfs_azure_page_read(const char *bytes, size_t n, struct sfs_listing *ret,
			struct sfs_error *err);

#endif
