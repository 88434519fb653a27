/* SPDX-License-Identifier: MIT */
/* conncache - our own connections that are idle, and the origins that need libcurl's.
 *
 * An origin is any text that is the same for the same server.  Times are sfs_clock_ns().
 * Not thread-safe: the fetch thread's. */
#ifndef SFS_CONNCACHE_H
#define SFS_CONNCACHE_H

#include "source/http/http1.h"

struct sfs_conncache;

/* Keeps at most n_idle connections. */
struct sfs_conncache *sfs_conncache_new(int n_idle);
void sfs_conncache_free(struct sfs_conncache *conns); /* and those that it keeps */

/* A connection that was kept at `since_ns` or later and may be used, now the caller's;
 * NULL if there is none. */
struct sfs_http1 *sfs_conncache_get(struct sfs_conncache *conns, const char *origin,
				    uint64_t since_ns, uint64_t now_ns);

/* Takes the connection: keeps it if it may be used again, else closes it. */
void sfs_conncache_put(struct sfs_conncache *conns, const char *origin,
		       struct sfs_http1 *conn, uint64_t now_ns);

/* The origin does not respond plainly: leave it to libcurl for a while. */
void sfs_conncache_avoid(struct sfs_conncache *conns, const char *origin,
			 uint64_t now_ns);
bool sfs_conncache_is_avoided(struct sfs_conncache *conns, const char *origin,
			      uint64_t now_ns);

#endif
