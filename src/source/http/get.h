/* SPDX-License-Identifier: MIT */
/* get - one HTTP GET: what its owner sets, the callbacks, and what the fetch thread keeps
 * of it; and the options of all. */
#ifndef SFS_GET_H
#define SFS_GET_H

#include "base/list.h"
#include "source/http/headers.h"
#include "source/netpath.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

struct sfs_http1;
struct sfs_origin;

struct sfs_fetch_options {
	int n_connections; /* GETs at a time of one server, at most; see pace.h */
	int n_small;	   /* small ones beside them */
	/* Called on the fetch thread, when something of the ways to all servers together
	 * has changed: their paces are added (small GETs are not in them). */
	void (*paced)(void *ctx, const struct sfs_netpath *path);
	void *ctx;
	unsigned connect_timeout_ms, stall_timeout_ms;
	uint64_t low_speed_limit; /* bytes a second: less during stall_timeout_ms is a
				     stall */
	char **headers;		  /* n_headers of them, see headers.h; copied */
	int n_headers;
	/* NULL: the default. */
	const char *proxy, *netrc_file, *ca_file, *ca_path, *cert, *key;
};

/* What a failure without an HTTP answer was like. */
enum sfs_fetch_outcome {
	SFS_FETCH_PASSING,  /* may be better next time */
	SFS_FETCH_REFUSED,  /* as passing; no connection was made, so a probe tries again
			       once */
	SFS_FETCH_NONSENSE, /* what came is no HTTP */
	SFS_FETCH_FINAL,    /* will not get better by trying (a certificate, a URL) */
};

struct sfs_get {
	/* Set before it is added. */
	bool is_small; /* counted against n_small; start() may set it too */
	bool is_urgent;
	bool is_wary;  /* not over a connection that was kept, for it may be dead */
	bool is_probe; /* its failure says nothing of the server */
	/* Once more what failed as passing, or was answered by a 5xx: while its server is
	 * out of order (outage.h) it waits, until its turn to try comes, or latest_ns, or
	 * the server is well again. */
	bool is_retry;
	uint64_t latest_ns;
	const atomic_bool *is_cancelled, *is_needed;

	/* It gets in line: set the URL (borrowed), which names the server. */
	void (*place)(struct sfs_get *get);
	const char *url;

	/* Its turn has come: set the next six. */
	void (*start)(struct sfs_get *get);
	const char *user;     /* "name:password", or NULL; borrowed */
	bool has_headers;     /* send the options' headers too */
	const char *if_match; /* an entity tag, or NULL */
	uint64_t first, last; /* the range asked for, both included; */
	bool is_whole;	      /* or no range: all there is */

	/* The final headers are there.  0: go on.  > 0: the body is not wanted; the
	 * GET ends with that number, and the connection is kept if little is left.
	 * < 0: the GET ends with that, at once. */
	int (*head)(struct sfs_get *get, const struct sfs_http_headers *answer);
	/* More of the body.  0: go on; else the GET ends with that. */
	int (*body)(struct sfs_get *get, const char *bytes, size_t n);
	/* The same where bytes can be received in place.  room: where the next ones
	 * go, at most n_max pieces; 0: nowhere, drop them.  took: n came there. */
	int (*room)(struct sfs_get *get, struct iovec *pieces, int n_max);
	int (*took)(struct sfs_get *get, size_t n);
	/* Once, if start() sets the two to moments of sfs_clock_ns(): late_ns has come,
	 * or needed_late_ns has and *is_needed is true, and the GET is not over.  It may
	 * drop any GET, and set the two anew. */
	void (*late)(struct sfs_get *get);
	uint64_t late_ns, needed_late_ns;
	/* The GET is over and the caller's again; it may be added anew from here.
	 * `err`: 0 (the answer came to its end), what head or body returned,
	 * -ECANCELED, or a negative errno with its verdict and sentence. */
	void (*end)(struct sfs_get *get, int err, enum sfs_fetch_outcome verdict,
		    const char *why);

	/* What is known of its server when start() is called: the round-trip time (0:
	 * unknown), and how much it has sent.  And when the request was sent. */
	uint64_t rtt_ns, served_bytes;
	uint64_t sent_ns;
	bool met_silence; /* it ended because nothing came for stall_timeout_ms, or too
			     little */
	unsigned headers_edition; /* with which of the options' headers it was sent */
	bool is_news;		  /* its failure is none of many; see outage.h */

	/* fetch's own */
	struct sfs_link link;
	struct sfs_origin *host;
	uint64_t due_ns, progress_ns;
	uint64_t watched_ns, watched_bytes; /* since then so much of the body came */
	size_t n_head;
	bool is_answered, is_waiting;
	int fd; /* of a new connection of libcurl's */
	struct sfs_http_headers answer;
	bool is_active, has_head;
	uint64_t n_dropped;
	int err;
	void *easy;
	struct sfs_http1 *conn;
	char *origin, *text; /* of a plain GET: whose wires it uses, its request */
	void *lines;
	char *failure;
};

#endif
