/* SPDX-License-Identifier: MIT */
/* handout - hands answers of reads to a process that maps the slabs (base/pieces.h).
 *
 * What lies in shared slabs goes as pieces, if the caller holds the read until it was
 * released; the rest goes as bytes.  One thread, which waits where it says so.
 */
#ifndef SFS_HANDOUT_H
#define SFS_HANDOUT_H

#include "io/request.h"

#include <stdbool.h>
#include <stdint.h>

struct sfs_slabs;

struct sfs_handout {
	int fd; /* of a UNIX stream socket; borrowed */
	struct sfs_slabs *slabs;
	uint64_t n_sent, n_released; /* bytes of the stream */
	bool is_waiting;	     /* the other end, for bytes */
	unsigned char ack[16];	     /* part of the next acknowledgement */
	size_t n_ack;
};

/* Send the hello, with a descriptor of the slabs' memory.  -ENOTSUP, ...: they cannot be
 * shared; -EPIPE: the other end has gone. */
int sfs_handout_begin(struct sfs_handout *h, int fd, struct sfs_slabs *slabs);

/* Send an answer, as pieces where it can be (true) or all of it as bytes.  Waits for
 * room in the socket.  1: there were pieces; 0: there were none; -EPIPE. */
int sfs_handout_send(struct sfs_handout *h, const struct sfs_read *read,
		     bool with_pieces);

/* Take the acknowledgements that have come; if there are none, wait for one, at
 * most timeout_ms.  -EPIPE: the other end has gone; -EPROTO: it acknowledges
 * what it cannot. */
int sfs_handout_listen(struct sfs_handout *h, int timeout_ms);

#endif
