/* SPDX-License-Identifier: MIT */
/* origins - servers, and whose turn it is at each.
 *
 * A server is an origin of URLs: scheme, host and port.  GETs wait in its lines until it
 * has room for them, urgent ones first.  How many have room at a time, its pace says
 * (pace.h); small GETs, whose time is all waiting, have lines and room of their own.
 *
 * Redirects may lead to any number of servers.  Of those that have nothing to do, only
 * the last few are remembered.
 *
 * Not thread-safe: the fetch thread's.
 */
#ifndef SFS_ORIGIN_H
#define SFS_ORIGIN_H

#include "base/list.h"
#include "source/http/concurrency.h"
#include "source/http/get.h"
#include "source/http/outage.h"
#include "source/netpath.h"

#include <stdbool.h>
#include <stdint.h>

enum { SFS_QUEUE_READ, SFS_QUEUE_SMALL, SFS_N_QUEUES };

struct sfs_origin {
	struct sfs_link link;
	char *name; /* "https://host:port", as in the URL */
	struct sfs_concurrency concurrency;
	uint64_t served_bytes, rtt_ns; /* rtt_ns 0: not known */
	uint64_t refused_ns;	       /* when it last said that it has too much to do */
	uint64_t stalled_ns;	       /* when a GET was last given up in silence */
	uint64_t used_ns;	       /* when it last had a GET, or ended one */
	struct sfs_outage outage;
	int n_waiting;	  /* to be tried again */
	bool has_windows; /* some of its connections were given one */
	int n_active[SFS_N_QUEUES], small_limit;
	unsigned n_small_ended; /* since the limit was lowered, and before */
	struct sfs_link queues[SFS_N_QUEUES][2]; /* [1]: urgent */
};

struct sfs_origins {
	int n_connections, n_small; /* GETs at a time of one server, at most */
	struct sfs_link list;
	int n, n_active[SFS_N_QUEUES];
};

void sfs_origins_init(struct sfs_origins *origins, int n_connections, int n_small);
void sfs_origins_done(struct sfs_origins *origins); /* no GET is in line */

/* The GET waits in line of the server that its URL names; sets get->origin, which is good
 * until it leaves or is taken out of the line. */
void sfs_origins_enqueue(struct sfs_origins *origins, struct sfs_get *get,
			 uint64_t now_ns);

/* Whose turn it is now; NULL: nobody's.  Either it enters, or it lines up again. */
struct sfs_get *sfs_origins_next(struct sfs_origins *origins);

/* It takes room from now on, as is_small says from now on. */
void sfs_origins_enter(struct sfs_origins *origins, struct sfs_get *get);
void sfs_origins_leave(struct sfs_origins *origins, struct sfs_get *get, uint64_t now_ns);

/* Call `each` for every line. */
void sfs_origins_each_queue(struct sfs_origins *origins,
			    void (*each)(void *ctx, struct sfs_link *line), void *ctx);

/* A GET will be tried again at its server; sets get->origin, which is good until it waits
 * no more. */
void sfs_origins_begin_waiting(struct sfs_origins *origins, struct sfs_get *get);
void sfs_origins_end_waiting(struct sfs_get *get);

/* All servers together that were used of late; see fetch.h. */
struct sfs_netpath sfs_origins_path(struct sfs_origins *origins, uint64_t now_ns);

/* An answer has begun, and so much of a body has come. */
void sfs_origin_responded(struct sfs_get *get, uint64_t now_ns);
void sfs_origin_served(struct sfs_get *get, uint64_t n_bytes);

/* The server said to this GET that it has too much to do: it gets less, once for all that
 * was sent before. */
void sfs_origin_refused(struct sfs_get *get, uint64_t now_ns);

/* The GET met silence until it was given up.  Connections that are idle then may be as
 * dead. */
void sfs_origin_stalled(struct sfs_get *get, uint64_t now_ns);

/* The GET failed as passing (`why`), or was answered well.  Tells when an outage begins
 * and ends; true: it ends with this. */
void sfs_origin_failed(struct sfs_get *get, bool is_unreachable, const char *why,
		       uint64_t now_ns);
bool sfs_origin_succeeded(struct sfs_get *get, uint64_t now_ns);

/* The GET is about to ask over `fd`, a connection to its server. */
void sfs_origin_sends(struct sfs_get *get, int fd);

#endif
