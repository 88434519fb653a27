/* SPDX-License-Identifier: MIT */
/* http1 - GETs over one HTTP/1.1 connection, each byte of a body received in its place.
 *
 * It is given a connected socket, or one with TLS on it, and the text of a request, and
 * reads the response: the head line by line, the body straight into its reader's memory.
 * It understands only responses whose head states their length; any other is odd, and the
 * request is for libcurl, as are names, connecting, proxies and the TLS itself.
 *
 * No threads, no waiting: the owner polls.  Every byte read comes from a server that
 * may be broken or hostile.
 */
#ifndef SFS_HTTP1_H
#define SFS_HTTP1_H

#include "base/list.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

struct sfs_http1;

/* Who reads a response.  None of these may free the connection. */
struct sfs_http1_reader {
	/* A line of a head, without its CR LF; also those of 1xx responses. */
	void (*line)(void *reader, const char *line, size_t n);
	/* The head is whole.  0: go on.  > 0: the body is not wanted.  < 0: end. */
	int (*head)(void *reader);
	/* Where the next bytes of the body go: the number of pieces set, at most
	 * n_max.  0: nowhere, drop them. */
	int (*room)(void *reader, struct iovec *pieces, int n_max);
	/* n bytes of the body came (and lie where room() said).  0, or < 0: end. */
	int (*received)(void *reader, size_t n);
};

enum sfs_http1_state {
	SFS_HTTP1_WAITS, /* for the socket: see sfs_http1_sends() */
	SFS_HTTP1_ENDED, /* the response is over, or head() or received() ended it */
	SFS_HTTP1_ODD,	 /* not a response for us; head() was not called */
	SFS_HTTP1_STALE, /* a kept connection ended before a response: ask on another */
	SFS_HTTP1_LOST,	 /* the connection ended within a response */
};

/* Takes a connected socket that does not block. */
struct sfs_http1 *sfs_http1_new(int fd);

/* TLS over a socket: as recv(), send() and close() of one that does not block. */
struct sfs_http1_tls {
	ssize_t (*receive)(void *tls, void *to, size_t n);
	ssize_t (*send)(void *tls, const void *from, size_t n);
	void (*close)(void *tls); /* and its socket */
};

/* Takes `tls`, with its handshake done; `fd` is its socket, to be polled. */
struct sfs_http1 *sfs_http1_new_tls(int fd, const struct sfs_http1_tls *ops, void *tls);
void sfs_http1_free(struct sfs_http1 *conn); /* closes; NULL is fine */

/* It was connected before there was a request for it: a server may have closed it when
 * that comes, as one that was used. */
void sfs_http1_set_ahead(struct sfs_http1 *conn);

/* Send a whole request; its text is copied.  The connection must be new or is_free(). */
void sfs_http1_ask(struct sfs_http1 *conn, const char *text, size_t n);

/* Right after sfs_http1_ask() or this: send another request behind it.  Its response is
 * read when the one before has ended: see sfs_http1_follow(). */
void sfs_http1_ask_too(struct sfs_http1 *conn, const char *text, size_t n);

/* The response has ended; read the next one, whose request was sent behind it.  false:
 * the connection cannot be used any more. */
bool sfs_http1_follow(struct sfs_http1 *conn);

/* Go on as far as the socket lets, a MiB of body at most.  *ret_err at
 * SFS_HTTP1_ENDED: what head() or received() said; at SFS_HTTP1_LOST: a negative errno,
 * and sfs_http1_why() has the sentence. */
enum sfs_http1_state sfs_http1_run(struct sfs_http1 *conn,
				   const struct sfs_http1_reader *ops, void *reader,
				   int *ret_err);
const char *sfs_http1_why(const struct sfs_http1 *conn);

int sfs_http1_fd(const struct sfs_http1 *conn);
bool sfs_http1_sends(const struct sfs_http1 *conn); /* poll for room, else for bytes */

/* May bytes be here already that the socket does not show?  Then go on without a poll. */
bool sfs_http1_holds(const struct sfs_http1 *conn);

#define SFS_HTTP1_LOW_WATER (64 << 10)

/* Within a long body, the socket is ready only when some KiB have come (the above, or what
 * was set before the request), its last bytes, or its end.  So who waits for it calls hurry() soon
 * if nothing has come: then it is ready for any byte. */
void sfs_http1_set_low_water(struct sfs_http1 *conn, int n_bytes);
bool sfs_http1_is_patient(const struct sfs_http1 *conn);
void sfs_http1_hurry(struct sfs_http1 *conn);

/* May it be asked again?  Looks at the socket: a server that closed it, or that sent
 * what nobody asked for, is seen here. */
bool sfs_http1_is_free(struct sfs_http1 *conn);

#endif
