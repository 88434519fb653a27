/* SPDX-License-Identifier: MIT */
/* input - the bytes of a stream, in chunks of memory that what is made of them shares.
 *
 * A chunk is 2 MiB of the stream, and is used again when nobody holds it any more.  Bytes
 * that do not fit into one, or that are not in the stream as they are wanted, get a chunk
 * of their own.  One thread uses the input; chunks may be released by any.
 *
 * Chunks may lie in memory that other processes see (pool.h).
 *
 * A mount may hand out a stream as pieces of its memory (records.h).  What is taken and
 * lies together there stays there; the rest is copied.
 *
 * The functions that need bytes wait for them, and return -EPIPE when there are no more,
 * -ECANCELED after sfs_input_stop(), -ENOMEM if the pool has no room, and what read() has
 * failed with.
 */
#ifndef SFS_INPUT_H
#define SFS_INPUT_H

#include "decode/pool.h"
#include "decode/records.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sfs_input;
struct sfs_chunk;

#define SFS_INPUT_PEEK_MAX ((size_t)1 << 20)

enum sfs_input_kind {
	SFS_INPUT_BYTES,
	SFS_INPUT_PIECES, /* a UNIX socket, with records */
};

/* Read `fd`, which stays borrowed, from its position on.  `before_read(arg)` is called
 * each time before it waits for bytes. */
struct sfs_input *sfs_input_new(int fd, enum sfs_input_kind kind,
				void (*before_read)(void *arg), void *arg);
void sfs_input_free(struct sfs_input *in); /* when all chunks are back; NULL is fine */

/* Before the first bytes are read: chunks come from the pool, which stays borrowed.
 * -ENOMEM: it has no room. */
int sfs_input_use_pool(struct sfs_input *in, struct sfs_pool *pool);

/* The memory that the mount has shared; false: it has not, or not yet. */
bool sfs_input_memory(const struct sfs_input *in, struct sfs_records_memory *ret);

/* Wake the wait of the thread `reading`, if it waits just now: call it again until that
 * thread has gone on.  It gets SIGUSR1, which is harmless from sfs_input_new() on. */
void sfs_input_stop(struct sfs_input *in, pthread_t reading);

/* Bytes that were used. */
uint64_t sfs_input_position(const struct sfs_input *in);

/* The next n bytes, at most SFS_INPUT_PEEK_MAX, without using them; valid until the next
 * call. */
int sfs_input_peek(struct sfs_input *in, size_t n, const unsigned char **ret_bytes);

/* Use n bytes without keeping them. */
int sfs_input_skip(struct sfs_input *in, uint64_t n);

/* Use n bytes and keep them: they stay where they are until *ret_chunk, the caller's, is
 * released.  They lie at a multiple of 16 if the position was one.  However large n
 * is, memory is taken only as bytes arrive. */
int sfs_input_take(struct sfs_input *in, uint64_t n, struct sfs_chunk **ret_chunk,
		   const unsigned char **ret_bytes);

/* An empty chunk, the caller's, to append n bytes to; NULL: the pool has no room. */
struct sfs_chunk *sfs_chunk_new(struct sfs_input *in, uint64_t n);
int sfs_input_append(struct sfs_input *in, uint64_t n, struct sfs_chunk *chunk);
void sfs_chunk_append_zeros(struct sfs_chunk *chunk, uint64_t n);
const unsigned char *sfs_chunk_bytes(const struct sfs_chunk *chunk);

void sfs_chunk_release(struct sfs_chunk *chunk);

#endif
