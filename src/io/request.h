/* SPDX-License-Identifier: MIT */
/* request - one read of a file of the mount: submitted, perhaps pending, answered in
 * pieces.
 *
 * The answer is a list of pieces of memory, mostly in slabs; only the reply copies them.
 * A read gets all bytes that it asked for (clipped at the end of the file) or an error,
 * never fewer.
 */
#ifndef SFS_IO_REQUEST_H
#define SFS_IO_REQUEST_H

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
	const void *file; /* that is read: only compared, NULL if all are one */
	bool is_first;	  /* the reader starts here and is expected to read on */
	/* Called once, on any thread and without locks; perhaps before the call that
	 * started the read returns.  0: the pieces stay until sfs_read_release(). */
	void (*done)(struct sfs_read *read, int err);

	/* The answer. */
	struct iovec *iov;
	int n_iov;
	size_t n_answered; /* the sum of the pieces */
	bool is_scarce;	   /* others wait for its memory: not to be held for long */

	/* Set by the module that answers it. */
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

/* Cancel the read.  true: done() will not be called.  false: it was, or is about to be.
 * The caller holds a lock that its done() takes too, so that a read is never cancelled
 * after its done() returned.  Does not wait. */
static inline bool sfs_read_cancel(struct sfs_read *read)
{
	return read->cancel(read);
}

/* What does the read wait for?  The caller holds the same lock.  *cause stays unchanged
 * if that is unknown. */
static inline void sfs_read_explain(struct sfs_read *read, struct sfs_cause *cause)
{
	if (read->explain)
		read->explain(read, cause);
}

/* Release the pieces.  Once, and only after done(0). */
void sfs_read_release(struct sfs_read *read);

/* Free what the read holds; it may be used again or go away. */
void sfs_read_reset(struct sfs_read *read);

/* For the module that answers: call read->done(read, err) when `out` is run. */
void sfs_read_tell(struct sfs_read *read, int err, struct sfs_deferred *out);

/* The error that the reader of a stream gets for an error of a source: -EIO, as -ENOENT
 * would mean "no such epoch"; -ESTALE and -ECANCELED stay. */
int sfs_read_err(int err);

/* For the module that answers: append a piece, whose memory stays until release; a copy
 * of n bytes; or n zeros. */
void sfs_read_add(struct sfs_read *read, void *bytes, size_t n);
void sfs_read_add_copy(struct sfs_read *read, const void *bytes, size_t n);
void sfs_read_add_zeros(struct sfs_read *read, size_t n);

/* Copy the answer to `to`, which has room for n_answered bytes. */
void sfs_read_copy(const struct sfs_read *read, void *to);

#endif
