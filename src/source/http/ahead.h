/* SPDX-License-Identifier: MIT */
/* ahead - connections to a far server that are made before there are GETs for them.
 *
 * A stream begins over many connections at once, and one from afar takes two round trips
 * to make, with TLS three.  So while the sizes of shards are asked for, the first handshake
 * that shows a long way has others made beside it.  They wait for GETs in conncache.h, and
 * a GET may take one that is still being made.  If one fails, nothing is said.
 *
 * The fetch thread's own.
 */
#ifndef SFS_AHEAD_H
#define SFS_AHEAD_H

#include "source/http/conncache.h"
#include "source/http/curl-get.h"
#include "source/http/get.h"

struct sfs_ahead;

/* As many to one server as it has `most` in all; 0: none.  `curl` and `conns` are
 * borrowed. */
struct sfs_ahead *sfs_ahead_new(struct sfs_curl *curl, struct sfs_conncache *conns,
				int most);
void sfs_ahead_free(struct sfs_ahead *ahead); /* ends those that are being made */

/* Some of the active GETs may have come further: is one of their servers far?  To be called
 * again at *next_ns, which is made earlier if need be. */
void sfs_ahead_look(struct sfs_ahead *ahead, struct sfs_link *active, uint64_t *next_ns);

/* The GET needs a new connection: it waits for the one that is ready soonest.  false: none
 * is being made to its server. */
bool sfs_ahead_take(struct sfs_ahead *ahead, struct sfs_get *get);

/* libcurl is done with one (get->is_ahead), which is free from here on.  `conn`: the
 * connection, ours; NULL: it failed. */
void sfs_ahead_ended(struct sfs_ahead *ahead, struct sfs_get *get,
		     struct sfs_http1 *conn);

#endif
