/* SPDX-License-Identifier: MIT */
/* decode-array - reads arrays and numbers out of the bytes of a field.
 *
 * npy: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html, versions
 * 1 to 3, C order, little-endian.  ten: Tensorcom's "tenbin", chunks of a magic, a length
 * and bytes padded to 64; of exactly one array.  Numbers: ASCII.  Pure; errors are
 * -EBADMSG with a sentence.
 */
#ifndef SFS_DECODE_ARRAY_H
#define SFS_DECODE_ARRAY_H

#include "shufflefs/ring.h"

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

struct sfs_array {
	char dtype[8];
	uint32_t rank;
	uint64_t dims[SHUFFLEFS_DIMS_MAX - 1];
	const unsigned char *data; /* in the bytes that were read */
	uint64_t n_bytes;	   /* of data: what dtype and dims make */
};

int sfs_npy_read(const unsigned char *bytes, uint64_t n_bytes,
		 struct sfs_array *ret_array, struct sfs_error *err);
int sfs_ten_read(const unsigned char *bytes, uint64_t n_bytes,
		 struct sfs_array *ret_array, struct sfs_error *err);

/* An integer with white space around it: into `row` of dtype i4 or i8. */
int sfs_number_read(const unsigned char *bytes, uint64_t n_bytes, const char *dtype,
		    void *row, struct sfs_error *err);

#endif
