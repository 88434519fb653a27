/* SPDX-License-Identifier: MIT */
/* sample - reads a stream, which is a tar, sample by sample.
 *
 * Members, keys and fields are those of WebDataset (tar/key.h).  A sample holds
 * its bytes (input.h), so that threads may decode it while the reader goes on.  One
 * thread reads; it waits for the descriptor.
 */
#ifndef SFS_SAMPLE_H
#define SFS_SAMPLE_H

#include "decode/input.h"

#include "base/error.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sfs_sample_field {
	const char *name; /* "jpg", in lower case; NUL-terminated */
	const unsigned char *bytes;
	uint64_t n_bytes;
};

struct sfs_sample {
	uint64_t ordinal; /* in the stream that it was read from: from its epoch's start */
	const char *key; /* NUL-terminated */
	struct sfs_sample_field *fields;
	uint32_t n_fields;
	uint64_t n_bytes; /* of its fields */
};

struct sfs_sample_reader;

/* Read `fd`, which stays borrowed, from its position on.  The first sample gets ordinal
 * `first`.  `before_read(arg)` is called each time before bytes are waited for. */
struct sfs_sample_reader *sfs_sample_reader_new(int fd, enum sfs_input_kind kind,
						uint64_t first,
						void (*before_read)(void *arg),
						void *arg);
/* Before the first sample: see input.h. */
int sfs_sample_reader_use_pool(struct sfs_sample_reader *reader, struct sfs_pool *pool);
bool sfs_sample_reader_memory(const struct sfs_sample_reader *reader,
			      struct sfs_records_memory *ret);

/* When all its samples are free; NULL is fine. */
void sfs_sample_reader_free(struct sfs_sample_reader *reader);

/* Make sfs_sample_next() fail with -ECANCELED, also the one that waits in read(): any
 * thread may call it, again and again until that has returned, with `reading` the thread
 * that calls it.  It gets SIGUSR1, which is harmless from sfs_sample_reader_new() on. */
void sfs_sample_reader_stop(struct sfs_sample_reader *reader, pthread_t reading);

/* 1: *ret_sample, the caller's.  0: the end of the archive was read.  < 0, with an error:
 * reading failed (-EIO, ...), the bytes are no tar (-EBADMSG), a sample is larger than
 * 4 GiB (-EOVERFLOW), they end before the archive does (-EPIPE), or it was stopped
 * (-ECANCELED).  WebDataset refuses a sample with two fields of one name, so -EBADMSG. */
int sfs_sample_next(struct sfs_sample_reader *reader, struct sfs_sample **ret_sample,
		    struct sfs_error *err);

void sfs_sample_free(struct sfs_sample *sample); /* NULL is fine; any thread */

/* The first of `n` names that the sample has; NULL: none. */
const struct sfs_sample_field *sfs_sample_find(const struct sfs_sample *sample,
					       char *const *names, uint32_t n);

#endif
