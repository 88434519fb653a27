/* SPDX-License-Identifier: MIT */
/* origin - servers, and whose turn it is at each.
 *
 * A server is an origin of URLs: scheme, host and port.  GETs are queued until it has
 * room for them, urgent ones first.  How many may run at a time, concurrency.h decides;
 * small GETs, which only wait for the server, have queues and a limit of their own.
 *
 * Redirects may lead to any number of servers.  Of those that have nothing to do, only
 * the last few are remembered.  The path to a server is recorded for longer, since
 * objects refer to it.
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
	/* Too many requests: until when it wants none, since when, and when that was said
	 * last; 0: never. */
	uint64_t held_until_ns, held_ns, held_said_ns;
	struct sfs_netpath_record *path; /* NULL: there are too many */
	int n_waiting;			 /* GETs to be tried again */
	unsigned n_behind, n_cut;	 /* GETs sent behind others; and those in vain */
	int n_ahead;			 /* connections that are made ahead of GETs */
	bool has_ahead;			 /* whether to make such was decided */
	bool is_ours;			 /* GETs go over connections of ours */
	bool has_windows;		 /* some of its connections were given one */
	int n_active[SFS_N_QUEUES], small_limit;
	unsigned n_small_ended; /* since the limit was lowered, and before */
	struct sfs_link queues[SFS_N_QUEUES][2]; /* [1]: urgent */
};

struct sfs_origins {
	int n_connections, n_small; /* GETs at a time of one server, at most */
	struct sfs_link list;
	int n, n_active[SFS_N_QUEUES];
	struct sfs_link paths; /* of all there ever were, up to a limit */
	int n_paths;
};

void sfs_origins_init(struct sfs_origins *origins, int n_connections, int n_small);
void sfs_origins_done(struct sfs_origins *origins); /* no GET is queued */

/* Queue the GET for the server that its URL names; sets get->origin, which is good until
 * it leaves or is taken out of the queue. */
void sfs_origins_enqueue(struct sfs_origins *origins, struct sfs_get *get,
			 uint64_t now_ns);

/* The GET whose turn it is now; NULL: none.  Either it enters, or it is queued again. */
struct sfs_get *sfs_origins_next(struct sfs_origins *origins);

/* One that may be sent behind another such one to this server, over its connection; NULL:
 * none.  It is in no queue any more. */
struct sfs_get *sfs_origin_next_behind(struct sfs_origin *origin);

/* The GET was sent behind another, and its response will not come; or its response is one
 * that counts only without others before it. */
void sfs_origin_cut(struct sfs_get *get);

/* It is active from now on, and counted as its is_small says; until it leaves. */
void sfs_origins_enter(struct sfs_origins *origins, struct sfs_get *get);
void sfs_origins_leave(struct sfs_origins *origins, struct sfs_get *get, uint64_t now_ns);

/* Call `each` for every queue. */
void sfs_origins_each_queue(struct sfs_origins *origins,
			    void (*each)(void *ctx, struct sfs_link *queue), void *ctx);

/* A GET will be tried again at its server; sets get->origin, which is good until it waits
 * no more. */
void sfs_origins_begin_waiting(struct sfs_origins *origins, struct sfs_get *get);
void sfs_origins_end_waiting(struct sfs_get *get);

/* All servers together that were used in the last ten seconds. */
struct sfs_netpath sfs_origins_path(struct sfs_origins *origins, uint64_t now_ns);

/* A new connection to a far server brings some 14 KB in its first round trip, and twice
 * as much in each next one.  Until many of them have done so: how much one brings at once
 * now. 0: it is near, or its connections are fast. */
uint64_t sfs_origin_cold_bytes(const struct sfs_origin *origin);

/* A response has begun, and n_bytes of a body have come. */
void sfs_origin_responded(struct sfs_get *get, uint64_t now_ns);
void sfs_origin_served(struct sfs_get *get, uint64_t n_bytes);

/* The server said to this GET that it has too much to do: it gets less, once for all that
 * was sent before. */
void sfs_origin_refused(struct sfs_get *get, uint64_t now_ns);

/* The GET was given up because nothing came.  Connections that are idle now may be as
 * dead. */
void sfs_origin_stalled(struct sfs_get *get, uint64_t now_ns);

/* The GET failed as passing (`why`), or had a good response.  Reports when an outage
 * begins and ends; true: it ends with this. */
void sfs_origin_failed(struct sfs_get *get, bool is_unreachable, const char *why,
		       uint64_t now_ns);
bool sfs_origin_succeeded(struct sfs_get *get, uint64_t now_ns);

/* The server has answered this GET with a 429, and said after how many seconds it may be
 * asked again: until then it gets no GET at all.  Reports it, at most once a minute.
 * true: this begins now; those that are queued are still there. */
bool sfs_origin_hold(struct sfs_get *get, int64_t retry_after_s, uint64_t random,
		     uint64_t now_ns);

/* The GET is under way.  Is its server far enough that connections to it are worth making
 * ahead of other GETs?  Each server is judged once: true for the first of its GETs that
 * shows it.  As long as that is not clear, *next_ns is made as early as it will be. */
bool sfs_origin_is_worth_ahead(const struct sfs_get *get, uint64_t now_ns,
			       uint64_t *next_ns);

/* The GET is about to be sent over `fd`, a connection to its server: measure the path. */
void sfs_origin_sends(struct sfs_get *get, int fd);

#endif
