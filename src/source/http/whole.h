/* SPDX-License-Identifier: MIT */
/* whole - gets the whole of a small file, such as a list of shards, from any server that
 * objects come from (dialect.h).
 *
 * One GET without a range, so the server need neither serve those nor know the size
 * before.  Redirects, credentials and their renewal are as for a shard; what passes is
 * tried again for a moment only, because a user waits.
 *
 * One thread at a time.
 */
#ifndef SFS_WHOLE_H
#define SFS_WHOLE_H

#include "base/strbuf.h"
#include "source/http/dialect.h"

struct sfs_whole;

/* Strings of the options are borrowed.  Waits for a command that gives headers.  NULL and
 * *err: an option is refused. */
struct sfs_whole *sfs_whole_start(const struct sfs_http_options *options,
				  struct sfs_error *err);
void sfs_whole_stop(struct sfs_whole *whole); /* and free; NULL is fine */

/* Append what is at the URI, most_bytes at most.  `store` is that of its scheme, whose
 * list() has been called for it; NULL: plain HTTP.  Waits.  -ENOENT: it is not there;
 * -EACCES: it may not be read; -EFBIG: it is larger; others; *err says why, without the
 * URI. */
int sfs_whole_get(struct sfs_whole *whole, struct sfs_store *store,
		  const struct sfs_uri *uri, size_t most_bytes, struct sfs_strbuf *ret,
		  struct sfs_error *err);

#endif
