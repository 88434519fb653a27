/* SPDX-License-Identifier: MIT */
/* wires - connections that wait for the next GET to their origin, and which origins
 * are not for wires.
 *
 * An origin is any text that is the same for the same server.  Nothing here locks or
 * waits; times are sfs_clock_ns(). */
#ifndef SFS_WIRES_H
#define SFS_WIRES_H

#include "wire.h"

struct sfs_wires;

/* Keeps at most n_idle wires. */
struct sfs_wires *sfs_wires_new(int n_idle);
void sfs_wires_free(struct sfs_wires *wires); /* and those that it keeps */

/* One that was kept at `since_ns` or later and may be used, now the caller's; NULL if
 * there is none. */
struct sfs_wire *sfs_wires_get(struct sfs_wires *wires, const char *origin,
			       uint64_t since_ns, uint64_t now_ns);

/* Takes the wire: keeps it if it may be used again, else closes it. */
void sfs_wires_put(struct sfs_wires *wires, const char *origin, struct sfs_wire *wire,
		   uint64_t now_ns);

/* The origin answered oddly: leave it to libcurl for a while. */
void sfs_wires_avoid(struct sfs_wires *wires, const char *origin, uint64_t now_ns);
bool sfs_wires_is_avoided(struct sfs_wires *wires, const char *origin, uint64_t now_ns);

#endif
