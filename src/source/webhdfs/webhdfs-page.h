/* SPDX-License-Identifier: MIT */
/* webhdfs-page - what WebHDFS says of files: a page of a folder's listing, and a file's
 * status.
 *
 * What tells versions of a file apart is the number of the file, which an overwriting
 * makes anew, with the time of its last change and its length.  Every byte of an answer
 * comes from a server.  Pure.
 */
#ifndef SFS_WEBHDFS_PAGE_H
#define SFS_WEBHDFS_PAGE_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SFS_WEBHDFS_TAG_BYTES 80

struct sfs_webhdfs_status {
	char *name; /* in its folder; "" if it was asked for by its path */
	bool is_folder, is_file;
	uint64_t length, mtime_ms, id; /* id 0: the server did not say (HttpFS) */
};

struct sfs_webhdfs_page {
	struct sfs_webhdfs_status *items;
	size_t n;
	uint64_t n_left; /* entries on pages behind this one */
};

/* -EBADMSG: it is no such page; *err says why. */
int sfs_webhdfs_page_read(const char *json, size_t n, struct sfs_webhdfs_page *ret,
			  struct sfs_error *err);
void sfs_webhdfs_page_done(struct sfs_webhdfs_page *page);

/* The answer to GETFILESTATUS.  The name is NULL. */
int sfs_webhdfs_status_read(const char *json, size_t n, struct sfs_webhdfs_status *ret,
			    struct sfs_error *err);

/* The tag of its version, with its quotes. */
void sfs_webhdfs_tag(const struct sfs_webhdfs_status *status,
		     char ret[SFS_WEBHDFS_TAG_BYTES]);

#endif
