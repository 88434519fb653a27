/* SPDX-License-Identifier: MIT */
/* tenbin - arrays as Tensorcom and WebDataset write them (`.ten`).
 *
 * An array is two chunks, a header and its data; a list of arrays is their concatenation.
 * Over ZeroMQ each chunk is a frame of its own ("multipart"), or all are in one frame
 * ("single-part"), each behind a magic and its length and padded to 64 bytes; so are they
 * in files.  Integers are signed, of 64 bits, little-endian.  Pure.
 *
 * The format: tensorcom/tenbin.py of NVlabs/tensorcom.
 */
#ifndef SFS_TENBIN_H
#define SFS_TENBIN_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SFS_TENBIN_RANK_MAX	 9
#define SFS_TENBIN_HEADER_MAX	 ((size_t)8 * (3 + SFS_TENBIN_RANK_MAX))
#define SFS_TENBIN_PRELUDE_BYTES 16 /* magic and length, before a chunk */

struct sfs_tenbin_array {
	char dtype[9]; /* "f4": NUL-terminated */
	char name[9];  /* Tensorcom's "info"; may be "" */
	uint32_t rank;
	uint64_t dims[SFS_TENBIN_RANK_MAX];
	uint64_t n_bytes; /* of the data: set by sfs_tenbin_read_header() */
};

/* Can Tensorcom read arrays of this dtype?  It has no "b1" and "bf2", and misspells
 * "u4". */
bool sfs_tenbin_has_dtype(const char *dtype);

/* Write the header of an array of such a dtype, and return its length. */
size_t sfs_tenbin_write_header(const struct sfs_tenbin_array *array,
			       unsigned char ret_header[SFS_TENBIN_HEADER_MAX]);

/* -EBADMSG: this is no header of an array, or its dtype is none of ours;
 * with an error. */
int sfs_tenbin_read_header(const unsigned char *bytes, uint64_t n_bytes,
			   struct sfs_tenbin_array *ret_array, struct sfs_error *err);

/* The bytes of a chunk of n with its prelude and padding. */
uint64_t sfs_tenbin_chunk_bytes(uint64_t n);

/* Write a chunk with its prelude and padding, and return where the next one goes. */
unsigned char *sfs_tenbin_write_chunk(unsigned char *p, const void *body, uint64_t n);

/* What is left to read of a file or of a single-part message. */
struct sfs_tenbin_reader {
	const unsigned char *bytes;
	uint64_t n_bytes;
};

/* 1: the next chunk, which points into the bytes.  0: there is none.  -EBADMSG, with an
 * error.  The padding of the last chunk may be missing. */
int sfs_tenbin_next_chunk(struct sfs_tenbin_reader *reader,
			  const unsigned char **ret_body, uint64_t *ret_n,
			  struct sfs_error *err);

/* 1: the next array, of two chunks; its data are array->n_bytes bytes at *ret_data, and
 * not aligned.  0: there is none.  -EBADMSG, with an error. */
int sfs_tenbin_next_array(struct sfs_tenbin_reader *reader,
			  struct sfs_tenbin_array *ret_array,
			  const unsigned char **ret_data, struct sfs_error *err);

#endif
