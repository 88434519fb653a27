/* SPDX-License-Identifier: MIT */
/* input - the bytes of a stream, in chunks of memory that what is made of them shares.
 *
 * A chunk is 2 MiB of the stream, and is used again when nobody holds it any more.  Bytes
 * that do not fit into one, or that are not in the stream as they are wanted, get a chunk
 * of their own.  One thread uses the input; chunks may be released by any.
 *
 * The functions that need bytes wait for them, and return -EPIPE when there are no more,
 * -ECANCELED after sfs_input_stop(), and what read() has failed with.
 */
#ifndef SFS_INPUT_H
#define SFS_INPUT_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sfs_input;
struct sfs_chunk;

#define SFS_INPUT_PEEK_MAX ((size_t)1 << 20)

/* Read `fd`, which stays borrowed, from its position on.  `before_read(arg)` is called
 * each time before read() is, which may wait. */
struct sfs_input *sfs_input_new(int fd, void (*before_read)(void *arg), void *arg);
void sfs_input_free(struct sfs_input *in); /* when all chunks are back; NULL is fine */

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
 * released. They lie at a multiple of 16 if the position was one.  However large n
 * is, memory is taken only as bytes arrive. */
int sfs_input_take(struct sfs_input *in, uint64_t n, struct sfs_chunk **ret_chunk,
		   const unsigned char **ret_bytes);

/* An empty chunk, the caller's, to append to. */
struct sfs_chunk *sfs_chunk_new(void);
int sfs_input_append(struct sfs_input *in, uint64_t n, struct sfs_chunk *chunk);
void sfs_chunk_append_zeros(struct sfs_chunk *chunk, uint64_t n);
const unsigned char *sfs_chunk_bytes(const struct sfs_chunk *chunk);

void sfs_chunk_release(struct sfs_chunk *chunk);

#endif
