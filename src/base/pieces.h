/* SPDX-License-Identifier: MIT */
/* pieces - how a stream reaches a process that maps the memory in which it lies.
 *
 * Over a UNIX stream socket comes a hello with the memory's descriptor (SCM_RIGHTS), then
 * records, in the order of the stream.  A record is a head and either `n` pieces, which
 * say where bytes lie in that memory, or `n` bytes, which lie elsewhere.  As with any
 * socket, the stream is whole if its own end mark came before the socket's end.
 *
 * Back go acknowledgements: how many bytes of the stream, counted from its start, are no
 * longer needed.  What was not acknowledged stays where it is, and does not change.
 * Nobody is obliged to have room for more, so who waits for bytes says that, too: then
 * the next ones come as bytes, if there is no room for pieces.
 *
 * Numbers are of this machine's byte order. */
#ifndef SFS_PIECES_H
#define SFS_PIECES_H

#include <stdint.h>

#define SFS_PIECES_MAGIC   0x3130656365697053ULL /* "Spiece01" */
#define SFS_PIECES_VERSION 1
#define SFS_PIECES_MAX	   1024 /* in a record */

struct sfs_pieces_hello {
	uint64_t magic;
	uint32_t version, zero;
	uint64_t n_bytes; /* of the memory */
};

enum { SFS_PIECES_SHARED = 1, SFS_PIECES_BYTES };

struct sfs_pieces_head {
	uint32_t kind, n;
};

struct sfs_piece {
	uint64_t offset, n_bytes; /* in the memory */
};

struct sfs_pieces_ack {
	uint64_t n_released;
	uint64_t is_waiting; /* 0 or 1 */
};

#endif
