/* SPDX-License-Identifier: MIT */
/* wire - GETs over one plain HTTP/1.1 connection, each byte of a body received where
 * it is wanted.
 *
 * It is given a connected socket and the text of a request, and reads the answer:
 * the head line by line, the body straight into its reader's memory.  It knows only
 * the plainest of answers, one whose length is said in its head; any other is odd, and
 * the request is for libcurl, as are names, connecting, proxies and TLS.
 *
 * No threads, no waiting: the owner polls.  Every byte read comes from a server that
 * may be broken or hostile.
 */
#ifndef SFS_WIRE_H
#define SFS_WIRE_H

#include "list.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

struct sfs_wire;

/* Who reads an answer.  None of these may free the wire. */
struct sfs_wire_reader {
	/* A line of a head, without its CR LF; also those of 1xx answers. */
	void (*line)(void *reader, const char *line, size_t n);
	/* The head is whole.  0: go on.  > 0: the body is not wanted.  < 0: end. */
	int (*head)(void *reader);
	/* Where the next bytes of the body go: the number of pieces set, at most
	 * n_max.  0: nowhere, drop them. */
	int (*room)(void *reader, struct iovec *pieces, int n_max);
	/* n bytes of the body came (and lie where room() said).  0, or < 0: end. */
	int (*took)(void *reader, size_t n);
};

enum sfs_wire_state {
	SFS_WIRE_WAITS, /* for the socket: see sfs_wire_sends() */
	SFS_WIRE_ENDED, /* the answer is over, or head() or took() ended it */
	SFS_WIRE_ODD,	/* not an answer for us; head() was not called */
	SFS_WIRE_STALE, /* a kept connection ended before an answer: ask on another */
	SFS_WIRE_LOST,	/* the connection ended within an answer */
};

/* A wire over a connected socket that does not block, which it takes. */
struct sfs_wire *sfs_wire_new(int fd);
void sfs_wire_free(struct sfs_wire *wire); /* closes; NULL is fine */

/* Send a whole request; its text is copied.  The wire must be new or is_free(). */
void sfs_wire_ask(struct sfs_wire *wire, const char *text, size_t n);

/* Go on as far as the socket lets, a MiB of body at most.  *ret_err at
 * SFS_WIRE_ENDED: what head() or took() said; at SFS_WIRE_LOST: a negative errno, and
 * sfs_wire_why() has the sentence. */
enum sfs_wire_state sfs_wire_run(struct sfs_wire *wire, const struct sfs_wire_reader *ops,
				 void *reader, int *ret_err);
const char *sfs_wire_why(const struct sfs_wire *wire);

int sfs_wire_fd(const struct sfs_wire *wire);
bool sfs_wire_sends(const struct sfs_wire *wire); /* poll for room, else for bytes */

/* May it be asked again?  Looks at the socket: a server that closed it, or that sent
 * what nobody asked for, is seen here. */
bool sfs_wire_is_free(struct sfs_wire *wire);

#endif
