/* SPDX-License-Identifier: MIT */
/* read - one read of a file of ours: asked, perhaps parked, answered by pieces.
 *
 * The answer is a list of pieces of memory that belong to slabs; nobody copies
 * them but the one who replies.  A read always gets all bytes that it asked for
 * (clipped at the file's end) or an error, never fewer.
 */
#ifndef SFS_READ_H
#define SFS_READ_H

#include "base/cause.h"
#include "base/deferred.h"
#include "base/list.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

struct sfs_read {
	/* Set by the reader. */
	uint64_t offset;
	size_t n_bytes;
	bool is_first; /* the reader begins here, and is expected to go on */
	/* Once, on any thread and without locks; perhaps before the call that began
	 * the read returns.  0: the pieces are there until sfs_read_release(). */
	void (*done)(struct sfs_read *read, int err);

	/* The answer. */
	struct iovec *iov;
	int n_iov;
	size_t n_answered; /* the sum of the pieces */

	/* Of whom it was given to. */
	bool (*cancel)(struct sfs_read *read);
	void (*explain)(struct sfs_read *read, struct sfs_cause *cause);
	void (*release)(struct sfs_read *read);
	void *owner, *state;
	int place;
	struct sfs_link link;
	struct sfs_deferred_call job;
	uint64_t pin, begun_ns;
	int err;
	int iov_capacity;
	char *flat; /* if there are too many pieces: a copy of all */
};

/* Take the read back.  true: done() will not be called.  false: it was, or is
 * about to be.  The caller holds a lock that its done() takes too, so that a read
 * is never cancelled after its done() returned; nothing waits in here. */
static inline bool sfs_read_cancel(struct sfs_read *read)
{
	return read->cancel(read);
}

/* What does the read wait for?  The caller holds the same lock.  *cause stays as it is if
 * that has no name. */
static inline void sfs_read_explain(struct sfs_read *read, struct sfs_cause *cause)
{
	if (read->explain)
		read->explain(read, cause);
}

/* The pieces are not needed any more.  After done(0) only, once. */
void sfs_read_release(struct sfs_read *read);

/* Free what the read holds on to; it may be used again or go away. */
void sfs_read_reset(struct sfs_read *read);

/* For those who answer: have read->done(read, err) called when the lock is free. */
void sfs_read_tell(struct sfs_read *read, int err, struct sfs_deferred *out);

/* The error of a source as a stream's reader gets it: EIO, where ENOENT would read as
 * "no such epoch"; -ESTALE and -ECANCELED stay. */
int sfs_read_err(int err);

/* For those who answer: append a piece; the memory stays until release. */
void sfs_read_add(struct sfs_read *read, void *bytes, size_t n);
void sfs_read_add_copy(struct sfs_read *read, const void *bytes, size_t n);
void sfs_read_add_zeros(struct sfs_read *read, size_t n);

/* Copy the answer to `to`, which has room for n_answered bytes. */
void sfs_read_copy(const struct sfs_read *read, void *to);

#endif
