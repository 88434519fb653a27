/* SPDX-License-Identifier: MIT */
/* get - one HTTP GET: what its owner sets, its callbacks, and what the fetch thread keeps
 * of it.
 *
 * All callbacks run on the fetch thread, and must not wait.
 */
#ifndef SFS_GET_H
#define SFS_GET_H

#include "base/list.h"
#include "source/http/headers.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

struct sfs_http1;
struct sfs_netpath_record;
struct sfs_origin;

/* What a failure without an HTTP response was like. */
enum sfs_fetch_outcome {
	SFS_FETCH_PASSING,  /* may be better next time */
	SFS_FETCH_REFUSED,  /* as passing; there was no connection: a probe tries once more */
	SFS_FETCH_NONSENSE, /* what came is no HTTP */
	SFS_FETCH_FINAL,    /* will not get better by trying (a certificate, a URL) */
};

struct sfs_get;

/* The response, as receive.h has seen it.  (From watched_ns on, watched_bytes of the body
 * have come.) */
struct sfs_get_response {
	struct sfs_http_headers headers;
	bool has_begun, has_head;
	size_t n_head;
	uint64_t progress_ns, watched_ns, watched_bytes, n_dropped;
	int err; /* what head() or body() returned */
};

/* Of curl-get.c, over libcurl: its handle, the request's header lines, the sentence of a
 * failure, why an address was not connected to, the socket of a new connection and since
 * when there is one, whether that is all it is for, and whether a folder of authorities was
 * left out. */
struct sfs_get_curl {
	void *easy, *header_list;
	char *failure, *refusal;
	int fd;
	uint64_t opened_ns;
	bool is_connecting, lacks_folder;
};

/* Of http1-get.c, over a connection of ours: the request, and the server
 * that it goes to. */
struct sfs_get_http1 {
	struct sfs_http1 *conn;
	char *request, *origin;
	/* Over one connection, in the order in which they were sent.  The first has it,
	 * and only that one is counted. */
	struct sfs_get *before, *behind;
	bool is_last; /* no more responses are to be read after its own */
	/* How many were sent before it, known to start(); and was any other sent over its
	 * connection with it?  Then its response may be another's, if something on the
	 * way mixes them up. */
	unsigned n_before;
	bool is_shared;
};

struct sfs_get {
	/* Set before it is added. */
	bool is_small; /* counted against n_small; start() may set it too */
	bool is_urgent;
	bool may_be_split; /* start() makes it small if its server is cold */
	bool may_follow;   /* it may be sent behind another that may, over a connection
			    * that was used before */
	bool wants_new_connection; /* one that was kept may be dead */
	bool is_probe;		   /* its failure says nothing of the server */
	bool is_ahead;		   /* it is none, but a connection: see ahead.h */
	/* Tries again what failed as passing, or was answered by a 5xx: while its server
	 * is out of order (outage.h) it waits, until it is its turn, or latest_ns, or the
	 * server responds again. */
	bool is_retry;
	uint64_t latest_ns; /* it waits for its server no longer than this; 0: for ever */
	const atomic_bool *is_cancelled, *is_needed;

	/* It is queued: set the URL (borrowed), which names the server.  And did redirects
	 * lead there, from another server, or did a list at another one name it?  Then not
	 * every address may be connected to (target.h). */
	void (*set_url)(struct sfs_get *get);
	const char *url;
	bool is_elsewhere, is_foreign;

	/* Its turn has come: set the next nine.  May set the URL again,
	 * of that server. */
	void (*start)(struct sfs_get *get);
	const char *user;      /* "name:password", or NULL; borrowed */
	bool has_user_headers; /* send the options' headers, too */
	bool negotiates;       /* by SPNEGO, with the user's Kerberos ticket */
	const char *lines; /* more header lines, each with its CR LF; or NULL; borrowed */
	bool is_signed_url; /* the URL goes out as it stands, and no .netrc is looked up */
	const char *if_match;  /* an entity tag, or NULL; borrowed */
	uint64_t first, last;  /* the range, both included; */
	bool is_whole;	       /* or no range: all there is */

	/* The final headers are there.  0: go on.  > 0: the body is not wanted; the
	 * GET ends with that number, and the connection is kept if little is left.
	 * < 0: the GET ends with that, at once. */
	int (*head)(struct sfs_get *get, const struct sfs_http_headers *headers);
	/* More of the body.  0: go on; < 0: the GET ends with that. */
	int (*body)(struct sfs_get *get, const char *bytes, size_t n);
	/* The same where bytes are received in place.  room: sets where the next ones
	 * go, at most n_max pieces, and returns how many; 0: nowhere, drop them.
	 * received: n bytes came there. */
	int (*room)(struct sfs_get *get, struct iovec *pieces, int n_max);
	int (*received)(struct sfs_get *get, size_t n);
	/* Once, if start() sets the two to times of sfs_clock_ns(): it is late_ns, or
	 * needed_late_ns and *is_needed is true, and the GET is not over.  It may drop
	 * any GET, and set the two anew. */
	void (*late)(struct sfs_get *get);
	uint64_t late_ns, needed_late_ns;
	/* The GET is over and the caller's again; it may be added anew from here.
	 * `err`: 0 (the response came to its end), what head or body returned,
	 * -ECANCELED, or a negative errno with its outcome and sentence. */
	void (*end)(struct sfs_get *get, int err, enum sfs_fetch_outcome outcome,
		    const char *why);

	/* What is known of its server when start() is called: how much is best asked for
	 * at a time of a far one whose connections are new (0: any), and the path to it
	 * (fetch's, and good until sfs_fetch_free(); NULL: not recorded).  And when the
	 * request was sent. */
	uint64_t cold_bytes;
	const struct sfs_netpath_record *path;
	uint64_t sent_ns;
	bool has_stalled; /* it ended: nothing for stall_timeout_ms, or too little */

	/* With which of the options' headers it was sent, and when these were looked at. */
	unsigned user_headers_edition;
	uint64_t user_headers_ns;
	/* The dialect's own: with which credentials it was signed, and when. */
	unsigned keys_edition;
	uint64_t signed_ns;
	bool is_news; /* its failure is the first after a success; see outage.h */

	/* The fetch thread's own. */
	struct sfs_link link;
	struct sfs_origin *origin;
	uint64_t due_ns;
	bool is_active, is_waiting, is_behind; /* behind: see http1.before */
	struct sfs_get_response response;
	struct sfs_get_curl curl;
	struct sfs_get_http1 http1;
};

#endif
