/* SPDX-License-Identifier: MIT */
/* How this works: pieces are collected in an array.  The kernel takes at most 1,024 of
 * them, one of which is the header of the reply; if samples are so small that a reply
 * needs more, all are copied into one buffer instead. */
#include "io/request.h"

#include "base/alloc.h"

#include <errno.h>
#include <string.h>

#define MAX_PIECES 1000
#define ZEROS	   (64 << 10)

static char zeros[ZEROS]; /* never written */

void sfs_read_release(struct sfs_read *read)
{
	if (read->release)
		read->release(read);
}

void sfs_read_reset(struct sfs_read *read)
{
	free(read->iov);
	free(read->flat);
	read->iov = NULL;
	read->flat = NULL;
	read->n_iov = read->iov_capacity = 0;
	read->n_answered = 0;
	read->is_scarce = false;
}

static void tell(struct sfs_deferred_call *job)
{
	struct sfs_read *read = sfs_container(job, struct sfs_read, job);

	read->done(read, read->err);
}

void sfs_read_tell(struct sfs_read *read, int err, struct sfs_deferred *out)
{
	read->err = err;
	sfs_deferred_add(out, &read->job, tell);
}

int sfs_read_err(int err)
{
	return err == -ESTALE || err == -ECANCELED ? err : -EIO;
}

/* From now on all is copied. */
static void flatten(struct sfs_read *read)
{
	read->flat = sfs_malloc(read->n_bytes);
	sfs_read_copy(read, read->flat);
	if (!read->iov)
		read->iov = sfs_calloc(1, sizeof *read->iov);
	read->iov[0].iov_base = read->flat;
	read->iov[0].iov_len = read->n_answered;
	read->n_iov = 1;
}

void sfs_read_add_copy(struct sfs_read *read, const void *bytes, size_t n)
{
	if (n > 0 && !read->flat)
		flatten(read);
	sfs_read_add(read, (void *)(uintptr_t)bytes, n);
}

/* Bytes that follow the last piece in memory make that longer: samples of a chunk do. */
static void add_piece(struct sfs_read *read, void *bytes, size_t n)
{
	struct iovec *last = read->n_iov ? &read->iov[read->n_iov - 1] : NULL;

	if (last && (char *)last->iov_base + last->iov_len == bytes) {
		last->iov_len += n;
		return;
	}
	if (read->n_iov == read->iov_capacity) {
		read->iov_capacity = read->iov_capacity ? 2 * read->iov_capacity : 16;
		read->iov = sfs_reallocarray(read->iov, (size_t)read->iov_capacity,
					     sizeof *read->iov);
	}
	read->iov[read->n_iov++] = (struct iovec){.iov_base = bytes, .iov_len = n};
}

void sfs_read_add(struct sfs_read *read, void *bytes, size_t n)
{
	if (n == 0)
		return;
	if (!read->flat && read->n_iov == MAX_PIECES)
		flatten(read);
	if (read->flat) {
		memcpy(read->flat + read->n_answered, bytes, n);
		read->iov[0].iov_len += n;
	} else {
		add_piece(read, bytes, n);
	}
	read->n_answered += n;
}

void sfs_read_add_zeros(struct sfs_read *read, size_t n)
{
	size_t piece;

	for (; n > 0; n -= piece) {
		piece = n < ZEROS ? n : ZEROS;
		sfs_read_add(read, zeros, piece);
	}
}

void sfs_read_copy(const struct sfs_read *read, void *to)
{
	int i;

	for (i = 0; i < read->n_iov; i++) {
		memcpy(to, read->iov[i].iov_base, read->iov[i].iov_len);
		to = (char *)to + read->iov[i].iov_len;
	}
}
