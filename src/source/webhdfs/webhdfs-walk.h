/* SPDX-License-Identifier: MIT */
/* webhdfs-walk - lists what a pattern means, page by page and folder by folder: HDFS
 * lists no more than one folder at a time.
 *
 * A folder is asked only if the pattern may mean something below it.  Pure.
 */
#ifndef SFS_WEBHDFS_WALK_H
#define SFS_WEBHDFS_WALK_H

#include "base/error.h"
#include "source/http/listing.h"
#include "source/webhdfs/webhdfs-page.h"

struct sfs_webhdfs_walk {
	char *pattern;
	char **folders; /* n of them; all but that of the root end in a slash */
	size_t n, at;	/* at: the one that is asked next, */
	char *after;	/* behind this name; NULL: from its beginning */
	unsigned n_pages;
};

void sfs_webhdfs_walk_init(struct sfs_webhdfs_walk *walk, const char *pattern);
void sfs_webhdfs_walk_done(struct sfs_webhdfs_walk *walk);

/* The folder of the next page, "" for the root. */
const char *sfs_webhdfs_walk_folder(const struct sfs_webhdfs_walk *walk);

/* Take that page: its files go into *ret, with a token as long as there is another page.
 * < 0: *err says why. */
int sfs_webhdfs_walk_take(struct sfs_webhdfs_walk *walk, struct sfs_webhdfs_page *page,
			  struct sfs_listing *ret, struct sfs_error *err);

#endif
