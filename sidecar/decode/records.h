/* SPDX-License-Identifier: MIT */
/* records - a stream that a mount hands out as pieces of its memory (base/pieces.h).
 *
 * What lies in the mount's memory can be used there, and stays as it is until it is
 * released.  One thread reads; any may release.
 *
 * The functions that need bytes wait for them, and return -EPIPE when there are no more,
 * -ECANCELED after sfs_records_stop(), -EPROTO if this is no such stream, and what recv()
 * or mmap() has failed with.
 */
#ifndef SFS_RECORDS_H
#define SFS_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sfs_records;
struct sfs_record;

/* The memory that a mount has shared. */
struct sfs_records_memory {
	int fd; /* borrowed; as the mount has sent it, for reading */
	const unsigned char *bytes;
	uint64_t n_bytes;
};

/* Read `fd`, which stays borrowed, and is a UNIX socket; `before_wait(arg)` is called
 * each time before bytes are waited for. */
struct sfs_records *sfs_records_new(int fd, void (*before_wait)(void *arg), void *arg);
void sfs_records_free(struct sfs_records *r); /* all is released; NULL is fine */

/* From now on nothing waits, but for who waits already: a signal wakes that. */
void sfs_records_stop(struct sfs_records *r);

/* false: it has not come yet.  For the thread that reads. */
bool sfs_records_memory(const struct sfs_records *r, struct sfs_records_memory *ret);

/* Have some of the next bytes, at least one.  *ret_bytes: where they lie, or NULL: they
 * must be read. */
int sfs_records_look(struct sfs_records *r, const unsigned char **ret_bytes,
		     uint64_t *ret_n);

/* Copy some of the next bytes, at least one: `n` at most of those that lie in memory,
 * else `room`. */
int sfs_records_read(struct sfs_records *r, void *to, size_t n, size_t room,
		     size_t *ret_n);
int sfs_records_skip(struct sfs_records *r, uint64_t n);

/* Use n bytes, which sfs_records_look() has found to lie together, and keep them until
 * they are released. */
struct sfs_record *sfs_records_hold(struct sfs_records *r, uint64_t n);
void sfs_record_release(struct sfs_record *record);

#endif
